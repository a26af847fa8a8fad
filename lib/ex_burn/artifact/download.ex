defmodule ExBurn.Artifact.Download do
  @moduledoc false
  # One file over HTTP: through proxies and redirects, again where a second try may help, and never
  # waiting for ever.

  alias ExBurn.Artifact.Proxy

  @redirects 5
  # No library of ours is larger.
  @largest 1024 * 1024 * 1024

  @type header :: {String.t(), String.t()}

  @doc """
  The bytes at a URL, or what went wrong.

  ## Options

    * `:headers` - sent along
    * `:attempts` - how often to try (default: 3)
    * `:silence` - milliseconds without a byte after which a try is given up (default: the seconds
      in `EXBURN_TIMEOUT`, else 30 000)
    * `:pause` - milliseconds before the second try; each later pause is twice as long
      (default: 1 000)
    * `:env` - where proxies are looked for (default: the environment)
  """
  @spec get(String.t(), keyword()) :: {:ok, binary()} | {:error, String.t()}
  def get(url, options \\ []) do
    options =
      Keyword.validate!(options,
        headers: [],
        attempts: 3,
        silence: silence(System.get_env("EXBURN_TIMEOUT", "")),
        pause: 1_000,
        env: System.get_env()
      )

    {:ok, _started} = Application.ensure_all_started([:inets, :ssl])
    try_often(url, options[:attempts], options[:pause], options)
  end

  defp silence(""), do: 30_000
  defp silence(seconds), do: 1_000 * String.to_integer(seconds)

  defp try_often(url, attempts, pause, options) do
    case request(url, options[:headers], @redirects, options) do
      {:ok, bytes} ->
        {:ok, bytes}

      {:again, _reason} when attempts > 1 ->
        Process.sleep(pause)
        try_often(url, attempts - 1, 2 * pause, options)

      {:again, reason} ->
        {:error, "#{reason} (tried #{options[:attempts]} times)"}

      {:error, reason} ->
        {:error, reason}
    end
  end

  # With a client of its own, since httpc keeps a client's proxy for all its requests.
  defp request(url, headers, redirects, options) do
    with {:ok, uri} <- parse(url),
         {:ok, proxy} <- Proxy.for_url(url, options[:env]) do
      client = :"ex_burn_#{System.unique_integer([:positive])}"
      {:ok, _pid} = :inets.start(:httpc, profile: client)

      try do
        set_proxy(client, proxy)
        send_request(client, uri, headers, proxy, options)
      after
        :inets.stop(:httpc, client)
      end
      |> follow(uri, headers, redirects, options)
    end
  end

  defp parse(url) do
    case URI.new(url) do
      {:ok, %URI{scheme: scheme, host: host} = uri}
      when scheme in ["http", "https"] and host not in [nil, ""] ->
        {:ok, uri}

      _other ->
        {:error, "it is no http:// or https:// URL"}
    end
  end

  defp set_proxy(_client, nil), do: :ok

  defp set_proxy(client, %{host: host, port: port}) do
    proxy = {{to_charlist(host), port}, []}
    :ok = :httpc.set_options([proxy: proxy, https_proxy: proxy], client)
  end

  defp send_request(client, uri, headers, proxy, options) do
    headers = for {name, value} <- authorization(uri) ++ headers, do: {to_charlist(name), value}
    url = URI.to_string(%{uri | userinfo: nil})

    settings =
      [autoredirect: false, connect_timeout: options[:silence], ssl: ssl()] ++ proxy_auth(proxy)

    {:ok, id} =
      :httpc.request(:get, {url, headers}, settings, [sync: false, stream: :self], client)

    answer = receive_answer(id, options[:silence])
    if answer == :silence, do: :httpc.cancel_request(id, client)
    answer
  end

  defp authorization(uri) do
    case Proxy.credentials(uri.userinfo) do
      nil -> []
      {user, password} -> [{"authorization", "Basic " <> Base.encode64("#{user}:#{password}")}]
    end
  end

  defp proxy_auth(%{auth: {user, password}}) do
    [proxy_auth: {to_charlist(user), to_charlist(password)}]
  end

  defp proxy_auth(_none), do: []

  # A company's own certificate is in the system's store, or where Hex is told to look.
  defp ssl do
    [
      verify: :verify_peer,
      depth: 4,
      customize_hostname_check: [match_fun: :public_key.pkix_verify_hostname_match_fun(:https)]
    ] ++ certificates(System.get_env("HEX_CACERTS_PATH", ""))
  end

  defp certificates(""), do: [cacerts: :public_key.cacerts_get()]
  defp certificates(path), do: [cacertfile: to_charlist(path)]

  defp receive_answer(id, silence) do
    receive do
      {:http, {^id, :stream_start, headers}} ->
        receive_body(id, silence, length_in(headers), [], 0)

      {:http, {^id, {:error, reason}}} ->
        {:failed, reason}

      {:http, {^id, {{_http, status, _phrase}, headers, _body}}} ->
        {:status, status, headers}
    after
      silence -> :silence
    end
  end

  defp receive_body(id, silence, expected, parts, size) when size <= @largest do
    receive do
      {:http, {^id, :stream, part}} ->
        receive_body(id, silence, expected, [parts | part], size + byte_size(part))

      {:http, {^id, :stream_end, _headers}} when expected in [nil, size] ->
        {:ok, IO.iodata_to_binary(parts)}

      {:http, {^id, :stream_end, _headers}} ->
        {:cut, size, expected}

      {:http, {^id, {:error, _reason}}} ->
        {:cut, size, expected}
    after
      silence -> :silence
    end
  end

  defp receive_body(_id, _silence, _expected, _parts, _size), do: :too_large

  defp length_in(headers) do
    with {_name, length} <- List.keyfind(headers, ~c"content-length", 0) do
      List.to_integer(length)
    end
  end

  defp follow({:ok, bytes}, _uri, _headers, _redirects, _options), do: {:ok, bytes}

  defp follow({:status, status, answered}, uri, headers, redirects, options)
       when status in [301, 302, 303, 307, 308] do
    case List.keyfind(answered, ~c"location", 0) do
      {_name, location} when redirects > 0 ->
        next = URI.merge(uri, to_string(location))
        # What is secret to one host is none of another's business.
        headers = if next.host == uri.host, do: headers, else: []
        request(URI.to_string(next), headers, redirects - 1, options)

      _none ->
        {:error, "the server redirects without end"}
    end
  end

  defp follow({:status, status, _answered}, _uri, _headers, _redirects, _options)
       when status in [408, 429] or status >= 500 do
    {:again, "the server answers with status #{status}"}
  end

  defp follow({:status, 407, _answered}, _uri, _headers, _redirects, _options) do
    {:error, "the proxy asks for other credentials (status 407)"}
  end

  defp follow({:status, status, _answered}, _uri, _headers, _redirects, _options) do
    {:error, "the server answers with status #{status}"}
  end

  defp follow({:cut, size, expected}, _uri, _headers, _redirects, _options) do
    of = if expected, do: " of #{expected}"
    {:again, "the connection was cut after #{size}#{of} bytes"}
  end

  defp follow(:silence, _uri, _headers, _redirects, options) do
    {:again, "the server was silent for #{div(options[:silence], 1000)} seconds"}
  end

  defp follow(:too_large, _uri, _headers, _redirects, _options) do
    {:error, "the server sends over #{@largest} bytes"}
  end

  defp follow({:failed, {:failed_connect, details}}, _uri, _headers, _redirects, _options) do
    reason = Enum.find_value(details, fn detail -> is_tuple(detail) and failure(detail) end)
    {:again, "the server can't be reached: #{reason || inspect(details)}"}
  end

  defp follow({:failed, reason}, _uri, _headers, _redirects, _options) do
    {:again, "the connection failed: #{inspect(reason)}"}
  end

  defp failure({_family, _options, {:tls_alert, {alert, _text}}}), do: "TLS, #{alert}"
  defp failure({_family, _options, reason}) when is_atom(reason), do: :inet.format_error(reason)
  defp failure(_other), do: nil
end
