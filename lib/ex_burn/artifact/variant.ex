defmodule ExBurn.Artifact.Variant do
  @moduledoc false
  # Which variant of the library a machine takes.

  alias ExBurn.Artifact.Table

  # The library of each driver, the most capable first.
  @drivers [
    {"cuda", ["libcuda.so.1", "nvcuda.dll"]},
    {"vulkan", ["libvulkan.so.1", "vulkan-1.dll"]}
  ]

  @type reason :: String.t()

  @doc """
  The variant that is asked for, by `EXBURN_VARIANT` or else by the config, and who asks. `nil`
  where nobody does.

      iex> ExBurn.Artifact.Variant.requested(%{"EXBURN_VARIANT" => "cuda"}, :vulkan)
      {"cuda", "EXBURN_VARIANT"}
      iex> ExBurn.Artifact.Variant.requested(%{"EXBURN_VARIANT" => ""}, :vulkan)
      {"vulkan", "config :ex_burn, :variant"}
      iex> ExBurn.Artifact.Variant.requested(%{}, nil)
      nil
  """
  @spec requested(%{String.t() => String.t()}, atom() | String.t()) ::
          {Table.variant(), reason()} | nil
  def requested(env, config) do
    case {Map.get(env, "EXBURN_VARIANT", ""), config} do
      {"", nil} -> nil
      {"", variant} -> {to_string(variant), "config :ex_burn, :variant"}
      {variant, _config} -> {variant, "EXBURN_VARIANT"}
    end
  end

  @doc """
  The variant for this machine among those there are, and why: the first whose driver is there.
  `driver?` tells whether one of some libraries is; the first variant is the base.

      iex> ExBurn.Artifact.Variant.detected(["cpu", "vulkan", "cuda"], fn _libraries -> true end)
      {"cuda", "its driver is installed"}
      iex> ExBurn.Artifact.Variant.detected(["cpu", "vulkan"], fn _libraries -> false end)
      {"cpu", "no driver of another is installed"}
      iex> ExBurn.Artifact.Variant.detected(["metal"], fn _libraries -> false end)
      {"metal", "there is no other"}
  """
  @spec detected([Table.variant(), ...], ([String.t()] -> boolean())) ::
          {Table.variant(), reason()}
  def detected([base | others], driver?) do
    found =
      for {variant, libraries} <- @drivers, variant in others, driver?.(libraries), do: variant

    case {found, others} do
      {[variant | _], _others} -> {variant, "its driver is installed"}
      {[], []} -> {base, "there is no other"}
      {[], _others} -> {base, "no driver of another is installed"}
    end
  end

  @doc "Each variant that needs a driver, and whether this machine has that."
  @spec drivers() :: [{Table.variant(), boolean()}]
  def drivers, do: for({variant, libraries} <- @drivers, do: {variant, installed?(libraries)})

  @doc "Whether the system's linker finds one of those libraries."
  @spec installed?([String.t()]) :: boolean()
  def installed?(libraries) do
    cache = linker_cache()
    folders = folders()

    Enum.any?(libraries, fn library ->
      String.contains?(cache, library) or
        Enum.any?(folders, &File.exists?(Path.join(&1, library)))
    end)
  end

  # Alpine and Windows have no such cache, only folders.
  defp linker_cache do
    path = System.get_env("PATH", "") <> ":/sbin:/usr/sbin"

    with {:unix, :linux} <- :os.type(),
         {cache, 0} <-
           System.cmd("sh", ["-c", "ldconfig -p"], env: [{"PATH", path}], stderr_to_stdout: true) do
      cache
    else
      _none -> ""
    end
  end

  defp folders do
    case :os.type() do
      {:win32, _} ->
        [Path.join(System.get_env("SystemRoot", "C:/Windows"), "System32")]

      _unix ->
        String.split(System.get_env("LD_LIBRARY_PATH", ""), ":", trim: true) ++ ["/usr/lib"]
    end
  end
end
