defmodule ExBurn.Artifact.Proxy do
  @moduledoc false
  # The proxy for a URL, from the environment variables that curl reads, by curl's rules.

  @type t :: %{
          host: String.t(),
          port: :inet.port_number(),
          auth: {String.t(), String.t()} | nil
        }

  @doc """
  The proxy for a URL, or `nil` for none.

      iex> env = %{"https_proxy" => "http://me:p%40ss@proxy.corp:3128", "NO_PROXY" => ".internal"}
      iex> ExBurn.Artifact.Proxy.for_url("https://github.com/ex-burn", env)
      {:ok, %{host: "proxy.corp", port: 3128, auth: {"me", "p@ss"}}}
      iex> ExBurn.Artifact.Proxy.for_url("https://mirror.internal/nif", env)
      {:ok, nil}
  """
  @spec for_url(String.t(), %{String.t() => String.t()}) ::
          {:ok, t() | nil} | {:error, String.t()}
  def for_url(url, env) do
    %URI{scheme: scheme, host: host} = URI.parse(url)

    case value(env, names(scheme)) do
      nil -> {:ok, nil}
      proxy -> if direct?(host, env), do: {:ok, nil}, else: parse(proxy)
    end
  end

  # A web server hands a client's `Proxy:` header to its programs as HTTP_PROXY, so curl doesn't
  # trust that name.
  defp names("http"), do: ["http_proxy", "all_proxy", "ALL_PROXY"]
  defp names("https"), do: ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]

  # An empty variable is an unset one.
  defp value(env, names), do: Enum.find_value(names, &(env[&1] not in [nil, ""] && env[&1]))

  defp parse(proxy) do
    uri = URI.parse(if proxy =~ "://", do: proxy, else: "http://" <> proxy)

    case uri do
      %URI{scheme: "http", host: host} when host not in [nil, ""] ->
        {:ok, %{host: host, port: port(proxy, uri), auth: credentials(uri.userinfo)}}

      %URI{scheme: scheme} ->
        {:error, "a proxy of the kind #{scheme}:// can't be used, only one of the kind http://"}
    end
  end

  # `URI` fills in the port of the web.
  defp port(proxy, uri), do: if(proxy =~ ~r/:\d+\/?$/, do: uri.port, else: 1080)

  @doc """
  User and password as they are written in a URL.

      iex> ExBurn.Artifact.Proxy.credentials("me:p%40ss")
      {"me", "p@ss"}
  """
  @spec credentials(String.t() | nil) :: {String.t(), String.t()} | nil
  def credentials(userinfo) when userinfo in [nil, ""], do: nil

  def credentials(userinfo) do
    case String.split(userinfo, ":", parts: 2) do
      [user, password] -> {URI.decode(user), URI.decode(password)}
      [user] -> {URI.decode(user), ""}
    end
  end

  defp direct?(host, env) do
    host = String.downcase(host)

    (value(env, ["no_proxy", "NO_PROXY"]) || "")
    |> String.downcase()
    |> String.split([",", " "], trim: true)
    |> Enum.any?(&covers?(&1, host))
  end

  defp covers?("*", _host), do: true

  defp covers?(entry, host) do
    case {network(entry), address(host)} do
      {{network, bits}, address}
      when is_binary(address) and byte_size(network) == byte_size(address) ->
        prefix(network, bits) == prefix(address, bits)

      _names ->
        within?(String.trim(entry, "."), host)
    end
  end

  defp within?(domain, host), do: host == domain or String.ends_with?(host, "." <> domain)

  # An address, or a range of them such as 10.0.0.0/8, with the number of bits that count.
  defp network(entry) do
    {text, length} =
      case String.split(entry, "/") do
        [text, length] -> {text, Integer.parse(length)}
        _address -> {entry, :whole}
      end

    case {address(text), length} do
      {nil, _length} -> nil
      {address, :whole} -> {address, bit_size(address)}
      {address, {bits, ""}} when bits in 0..bit_size(address)//1 -> {address, bits}
      _other -> nil
    end
  end

  defp prefix(address, bits) do
    <<prefix::bitstring-size(bits), _rest::bitstring>> = address
    prefix
  end

  # 32 or 128 bits, or `nil` for a name.
  defp address(text) do
    text = text |> String.trim_leading("[") |> String.trim_trailing("]")

    case :inet.parse_strict_address(to_charlist(text)) do
      {:ok, {a, b, c, d}} -> <<a, b, c, d>>
      {:ok, parts} -> for part <- Tuple.to_list(parts), into: <<>>, do: <<part::16>>
      {:error, _no_address} -> nil
    end
  end
end
