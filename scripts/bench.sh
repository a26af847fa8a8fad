#!/usr/bin/env bash
# Benchmarks beside PyTorch and JAX, into bench/RESULTS.md and bench/results/.
# EXBURN_BENCH_PYTHON names the Python that has them; the arguments are those of
# bench/speed_bench.exs.
source "$(dirname "$0")/common.sh"

need_packages "the benchmarks"
shopt -s nullglob
benchmarks=(bench/*_bench.exs)
[[ ${#benchmarks[@]} -gt 0 ]] || fail "there is no benchmark in bench/ yet"
for benchmark in "${benchmarks[@]}"; do
  MIX_ENV=prod run mix run "$benchmark" "$@"
done
