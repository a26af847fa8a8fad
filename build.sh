#!/usr/bin/env bash
# Builds the NIF from source as one variant: build.sh [cpu|cuda|vulkan|metal]
# Without an argument it takes the best one that this machine has the driver for.
source "$(dirname "$0")/scripts/common.sh"

[[ $# -le 1 ]] || fail "usage: build.sh [cpu|cuda|vulkan|metal]"
has_packages || fail "the Hex packages are missing: run make setup where Hex can be reached, or set EXBURN_DEPS_PATH"

export EXBURN_BUILD=1 EXBURN_VARIANT="${1:-}"
run mix compile --force
