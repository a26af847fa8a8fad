defmodule ExBurn.Defn.Cache do
  @moduledoc false
  # Compiled functions by what they were compiled for. At most `@limit` are kept; callers who need
  # the same one at once compile it once.

  use GenServer

  @limit 1000

  def start_link(_options), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @doc "The value under `key`; where there is none yet, what `compile` returns."
  def fetch(key, compile) do
    case lookup(key) do
      {:ok, value} -> value
      :error -> :global.trans({{__MODULE__, key}, self()}, fn -> add(key, compile) end, [node()])
    end
  end

  defp add(key, compile) do
    with :error <- lookup(key) do
      value = compile.()
      GenServer.call(__MODULE__, {:put, key, value})
      value
    else
      {:ok, value} -> value
    end
  end

  defp lookup(key) do
    case :ets.lookup(__MODULE__, key) do
      [{_key, value}] -> {:ok, value}
      [] -> :error
    end
  end

  @impl true
  def init(nil) do
    :ets.new(__MODULE__, [:named_table, :protected, read_concurrency: true])
    {:ok, :queue.new()}
  end

  @impl true
  def handle_call({:put, key, value}, _from, keys) do
    :ets.insert(__MODULE__, {key, value})
    keys = :queue.in(key, keys)

    if :queue.len(keys) > @limit do
      {{:value, oldest}, keys} = :queue.out(keys)
      :ets.delete(__MODULE__, oldest)
      {:reply, :ok, keys}
    else
      {:reply, :ok, keys}
    end
  end
end
