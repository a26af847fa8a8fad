#!/usr/bin/env bash
# Benchmarks.
source "$(dirname "$0")/common.sh"

has_packages || fail "the benchmarks need the Hex packages: run make setup where Hex can be reached, or set EXBURN_DEPS_PATH"
shopt -s nullglob
benchmarks=(bench/*_bench.exs)
[[ ${#benchmarks[@]} -gt 0 ]] || fail "there is no benchmark in bench/ yet"
for benchmark in "${benchmarks[@]}"; do
  MIX_ENV=prod run mix run "$benchmark"
done
