#!/usr/bin/env bash
# Nx's own test files on ExBurn.Backend; the counts go into test/nx/SUITES.md.
source "$(dirname "$0")/common.sh"

need_packages "Nx's tests"
MIX_ENV="test" run mix run --no-start test/nx/suites.exs
