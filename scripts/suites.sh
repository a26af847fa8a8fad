#!/usr/bin/env bash
# Nx's own test files on ExBurn.Backend; the counts go into test/nx/SUITES.md.
source "$(dirname "$0")/common.sh"

has_packages || fail "this needs the Hex packages: run make setup where Hex can be reached, or set EXBURN_DEPS_PATH"
MIX_ENV=test run mix run --no-start test/nx/suites.exs
