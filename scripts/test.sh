#!/usr/bin/env bash
# Native tests, then the Elixir suite. All in the release profile, so that Burn
# is built once for the tests and for the NIF.
source "$(dirname "$0")/common.sh"

# The release tool apart: with it in the same build, Burn would be built again with its features.
burn_packages=(-p ex_burn_engine -p ex_burn_nif)

if cargo nextest --version >/dev/null 2>&1; then
  run cargo nextest run --release "${burn_packages[@]}"
  run cargo nextest run --release -p ex_burn_dist
else
  run cargo test --release "${burn_packages[@]}"
  run cargo test --release -p ex_burn_dist
fi

EXBURN_NIF_PATH="$(cargo_target)/release/$(native_library)"
export EXBURN_NIF_PATH
run cargo build --release -p ex_burn_nif
run elixir test/standalone/no_packages.exs

if has_packages; then
  # The same generated cases each time: `make conformance` looks for new ones.
  run mix test --seed 0
else
  warn "NOT RUN: the Elixir suite (mix test), for want of Hex packages"
fi
