#!/usr/bin/env bash
# Generated cases of every operation and type, and the table of how many passed.
source "$(dirname "$0")/common.sh"

has_packages || fail "the conformance suite needs the Hex packages: run make setup where Hex can be reached, or set EXBURN_DEPS_PATH"
EXBURN_COVERAGE=test/nx/COVERAGE.md run mix test --only conformance
