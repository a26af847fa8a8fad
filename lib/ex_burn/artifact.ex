defmodule ExBurn.Artifact do
  @moduledoc """
  The ready-made libraries of this version: their names, checksums and where they come from.

  An artifact is a tarball with the native library for one target and variant. Which there are is
  told by `native/targets.toml`, and their bytes by the checksum file of the package; both are read
  when ExBurn compiles. `ExBurn.Nif` takes the one for the machine, `mix ex_burn.fetch` any.
  """

  alias ExBurn.Artifact.{Download, Table}
  alias ExBurn.Error

  @version Mix.Project.config()[:version]
  @root Path.expand("../..", __DIR__)

  @table_file Path.join(@root, "native/targets.toml")
  @external_resource @table_file
  @table @table_file |> File.read!() |> Table.parse()

  @checksum_file Path.join(@root, "checksum-Elixir.ExBurn.Nif.exs")
  @external_resource @checksum_file
  @checksums (if File.exists?(@checksum_file) do
                @checksum_file |> Code.eval_file() |> elem(0)
              else
                %{}
              end)

  @releases "https://github.com/ex-burn/ex_burn/releases/download/v#{@version}"

  @enforce_keys [:name, :target, :variant, :nif_version]
  defstruct [:name, :target, :variant, :nif_version, :checksum]

  @type t :: %__MODULE__{
          name: String.t(),
          target: String.t(),
          variant: Table.variant(),
          nif_version: String.t(),
          checksum: String.t() | nil
        }

  @typedoc "The folder that artifacts come from, alone or with the headers to send along."
  @type base_url :: String.t() | {String.t(), [{String.t(), String.t()}]}

  @doc "The version whose artifacts these are."
  @spec version() :: String.t()
  def version, do: @version

  @doc false
  @spec table() :: Table.t()
  def table, do: @table

  @doc "The checksums of the package by artifact, as its checksum file lists them."
  @spec checksums() :: %{String.t() => String.t()}
  def checksums, do: @checksums

  @doc "Every artifact of this version."
  @spec all() :: [t()]
  def all, do: all(@table, @version, @checksums)

  @doc false
  @spec all(Table.t(), String.t(), %{String.t() => String.t()}) :: [t()]
  def all(table, version, checksums) do
    for target <- table.targets, nif <- table.nif_versions, variant <- target.variants do
      name = name(target, variant, nif, version)

      %__MODULE__{
        name: name,
        target: target.triple,
        variant: variant,
        nif_version: nif,
        checksum: checksums[name]
      }
    end
  end

  # As `RustlerPrecompiled` looks for it. A target's first variant is the one without a suffix.
  defp name(%{triple: triple, kind: kind, variants: [base | _]}, variant, nif, version) do
    windows? = triple =~ "windows"
    prefix = if windows?, do: "", else: "lib"
    suffix = if variant == base, do: "", else: "--" <> variant

    extension =
      cond do
        kind == :staticlib -> "a"
        windows? -> "dll"
        true -> "so"
      end

    "#{prefix}ex_burn_nif-v#{version}-nif-#{nif}-#{triple}#{suffix}.#{extension}.tar.gz"
  end

  @doc """
  The artifacts for a target: of its base variant where `variant` is `nil`, of every variant where
  it is `:all`.

      iex> {:ok, [artifact]} = ExBurn.Artifact.find("aarch64-apple-ios")
      iex> {artifact.target, artifact.variant}
      {"aarch64-apple-ios", "metal"}
      iex> {:error, message} = ExBurn.Artifact.find("x86_64-unknown-linux-musl", "cuda")
      iex> message
      "x86_64-unknown-linux-musl has no variant cuda, only cpu"
  """
  @spec find(String.t(), Table.variant() | :all | nil) :: {:ok, [t()]} | {:error, String.t()}
  def find(triple, variant \\ nil) do
    case Table.target(@table, triple) do
      nil ->
        known = Enum.map_join(@table.targets, "\n", &"  #{&1.triple}")
        {:error, "there is no artifact for #{triple}, only for\n#{known}"}

      %{variants: [base | _] = variants} ->
        wanted = if variant == :all, do: variants, else: [variant || base]

        case for(
               artifact <- all(),
               artifact.target == triple,
               artifact.variant in wanted,
               do: artifact
             ) do
          [] -> {:error, "#{triple} has no variant #{variant}, only #{Enum.join(variants, ", ")}"}
          artifacts -> {:ok, artifacts}
        end
    end
  end

  @doc """
  The folder that artifacts come from: `EXBURN_BASE_URL`, else `config :ex_burn, :base_url`, else
  the project's releases.
  """
  @spec base_url(base_url() | nil) :: base_url()
  def base_url(config \\ Application.get_env(:ex_burn, :base_url)) do
    case System.get_env("EXBURN_BASE_URL", "") do
      "" -> config || @releases
      url -> url
    end
  end

  @doc """
  The URL of an artifact in the folder at `base_url`.

      iex> {:ok, [artifact]} = ExBurn.Artifact.find("aarch64-apple-ios")
      iex> ExBurn.Artifact.url(artifact, "https://mirror.corp/ex_burn/") ==
      ...>   "https://mirror.corp/ex_burn/" <> artifact.name
      true
  """
  @spec url(t(), base_url()) :: String.t()
  def url(artifact, {url, _headers}), do: url(artifact, url)

  def url(artifact, url) do
    url |> URI.parse() |> URI.append_path("/" <> artifact.name) |> URI.to_string()
  end

  @doc "As `url/2`, without the credentials that the URL may hold."
  @spec shown_url(t(), base_url()) :: String.t()
  def shown_url(artifact, base_url) do
    URI.to_string(%{URI.parse(url(artifact, base_url)) | userinfo: nil})
  end

  @doc """
  Whether the bytes are the artifact's, by its checksum.
  """
  @spec genuine?(t(), binary()) :: boolean()
  def genuine?(%__MODULE__{checksum: checksum}, bytes), do: checksum == checksum(bytes)

  @doc """
  The checksum of bytes, as the checksum file writes it.

      iex> ExBurn.Artifact.checksum("abc")
      "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
  """
  @spec checksum(binary()) :: String.t()
  def checksum(bytes), do: "sha256:" <> Base.encode16(:crypto.hash(:sha256, bytes), case: :lower)

  @doc """
  What lies in the file at `path`: the artifact, something else, or nothing.
  """
  @spec state(t(), Path.t()) :: :genuine | :damaged | :missing
  def state(artifact, path) do
    case File.read(path) do
      {:ok, bytes} -> if genuine?(artifact, bytes), do: :genuine, else: :damaged
      {:error, _reason} -> :missing
    end
  end

  @doc """
  Puts the artifact into `folder`, unless it is there, and returns the file.

  What is downloaded is held to the checksum before it is written, and a file that doesn't match it
  is replaced.

  ## Options

    * `:base_url` - the folder that it comes from (default: `base_url/0`)

  The others are those of the download: `:attempts` (default: 3), and `:silence` and `:pause` in
  milliseconds.
  """
  @spec fetch(t(), Path.t(), keyword()) :: {:ok, Path.t()} | {:error, Error.t()}
  def fetch(artifact, folder, options \\ []) do
    {base_url, options} = Keyword.pop_lazy(options, :base_url, fn -> base_url() end)
    path = Path.join(folder, artifact.name)

    with :ok <- check_listed(artifact),
         :missing <- present(artifact, path),
         url = url(artifact, base_url),
         {:ok, bytes} <- download(url, headers(base_url), options),
         :ok <- check_genuine(artifact, bytes),
         :ok <- write(path, bytes) do
      {:ok, path}
    else
      :genuine -> {:ok, path}
      {:error, reason} -> {:error, error(artifact, base_url, folder, reason)}
    end
  end

  defp check_listed(%{checksum: nil}) do
    {:error, "the checksum file of ExBurn #{@version} doesn't list it, so nothing vouches for it"}
  end

  defp check_listed(_artifact), do: :ok

  defp present(artifact, path) do
    with :damaged <- state(artifact, path), do: :missing
  end

  defp headers({_url, headers}), do: headers
  defp headers(_url), do: []

  defp download(url, headers, options) do
    Download.get(url, [headers: headers] ++ options)
  end

  defp check_genuine(artifact, bytes) do
    if genuine?(artifact, bytes) do
      :ok
    else
      {:error,
       "its checksum is #{checksum(bytes)} where #{artifact.checksum} is expected: " <>
         "it was changed on its way, and was not kept"}
    end
  end

  # Beside the file and then renamed, so that nobody sees half of it.
  defp write(path, bytes) do
    part = "#{path}.#{System.pid()}.part"

    with :ok <- File.mkdir_p(Path.dirname(path)),
         :ok <- File.write(part, bytes),
         :ok <- File.rename(part, path) do
      :ok
    else
      {:error, reason} ->
        File.rm(part)
        {:error, "it can't be written to #{Path.dirname(path)}: #{:file.format_error(reason)}"}
    end
  end

  defp error(artifact, base_url, folder, reason) do
    Error.new(
      op: :fetch,
      reason: "#{artifact.name}: #{reason}",
      details: %{url: shown_url(artifact, base_url), folder: folder}
    )
  end
end
