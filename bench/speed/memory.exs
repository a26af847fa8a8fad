# Prints the bytes of memory that steps of a training need: mix run bench/speed/memory.exs W6

Code.require_file("load.exs", __DIR__)
[name] = System.argv()
IO.puts(ExBurn.Bench.Memory.growth(name))
