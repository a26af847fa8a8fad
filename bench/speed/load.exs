# The modules of the benchmarks, which Mix doesn't compile.
for file <- ~w(functions workloads subject peer comparison memory overhead machine report) do
  Code.require_file("#{file}.ex", __DIR__)
end
