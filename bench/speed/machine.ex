defmodule ExBurn.Bench.Machine do
  @moduledoc false
  # What the figures were measured on.

  def processor do
    model =
      with {:ok, text} <- File.read("/proc/cpuinfo"),
           [_, model] <- Regex.run(~r/^model name\s*: (.*)$/m, text) do
        model
      else
        _ -> to_string(:erlang.system_info(:system_architecture))
      end

    "#{model}, #{:erlang.system_info(:logical_processors)} logical processors"
  end

  @doc "How many processes wanted a processor in the last minute: those of others disturb."
  def load do
    case File.read("/proc/loadavg") do
      {:ok, text} -> text |> String.split() |> hd()
      {:error, _reason} -> "unknown"
    end
  end

  def versions do
    nx = Application.spec(:nx, :vsn)
    ex_burn = Application.spec(:ex_burn, :vsn)
    "ExBurn #{ex_burn}, Nx #{nx}, Elixir #{System.version()}, OTP #{System.otp_release()}"
  end
end
