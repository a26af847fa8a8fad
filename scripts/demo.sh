#!/usr/bin/env bash
# Trains a classifier on the bundled digits.
source "$(dirname "$0")/common.sh"

if has_packages; then
  run mix run examples/digits.exs
else
  run cargo run --release --example digits -p ex_burn_engine
  warn "NOT RUN: the training through Nx and Axon, for want of Hex packages; this was the engine alone"
fi
