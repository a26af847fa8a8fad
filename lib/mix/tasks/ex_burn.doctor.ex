defmodule Mix.Tasks.ExBurn.Doctor do
  @shortdoc "Tells which native library ExBurn uses, and why"

  @moduledoc """
  Tells what was found on this machine, which native library that makes, and whether it works.

      mix ex_burn.doctor

  It changes nothing and needs no network, and ends with status 1 where the library doesn't work.
  """

  use Mix.Task

  alias ExBurn.Artifact
  alias ExBurn.Artifact.Variant
  alias ExBurn.Nif.Loader

  @impl true
  def run(_arguments) do
    Mix.Task.run("app.config")
    {:ok, _started} = Application.ensure_all_started(:ex_burn)
    config = Loader.config()

    line(
      "ExBurn",
      "#{Artifact.version()}, Elixir #{System.version()}, OTP #{System.otp_release()}"
    )

    line(
      "NIF",
      "version #{:erlang.system_info(:nif_version)}, for #{Enum.join(Artifact.table().nif_versions, ", ")} and later"
    )

    line("drivers", Enum.map_join(Variant.drivers(), ", ", &driver/1))
    artifact(config)
    library()
  end

  defp artifact(config) do
    if config[:force_build], do: line("build", "from source is asked for")
    %{artifact: artifact, reason: reason, cache: cache} = Loader.choose!(config)
    line("target", artifact.target)
    line("variant", "#{artifact.variant}: #{reason}")
    line("artifact", artifact.name)
    line("from", Artifact.shown_url(artifact, Artifact.base_url()))
    line("checksum", artifact.checksum || "not in the checksum file")

    line(
      "cache",
      "#{cache}: #{cached(Artifact.state(artifact, Path.join(cache, artifact.name)))}"
    )
  rescue
    error in ExBurn.Error -> line("artifact", Exception.message(error))
  end

  defp library do
    case ExBurn.nif_loaded?() && ExBurn.smoke_test() do
      :ok ->
        line("library", "works, #{ExBurn.nif_function_count()} functions")
        line("devices", Enum.map_join(ExBurn.Device.available(), ", ", &ExBurn.Device.title/1))

      {:error, reason} ->
        line("library", "loaded, but computes wrongly: #{reason}")
        exit({:shutdown, 1})

      false ->
        line("library", "not loaded: #{load_error()}")
        exit({:shutdown, 1})
    end
  end

  # Loading the module anew tells why it failed.
  defp load_error do
    case :code.ensure_loaded(ExBurn.Nif) do
      {:module, _module} -> "its functions are missing"
      {:error, reason} -> inspect(reason)
    end
  end

  defp driver({variant, true}), do: "#{variant} found"
  defp driver({variant, false}), do: "#{variant} not found"

  defp cached(:genuine), do: "there, and matches the checksum"
  defp cached(:damaged), do: "there, but doesn't match the checksum; it will be replaced"
  defp cached(:missing), do: "not there"

  defp line(what, value), do: Mix.shell().info(String.pad_trailing(what, 10) <> value)
end
