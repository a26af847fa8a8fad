#!/usr/bin/env bash
# Generated cases of every operation and type, and the table of how many passed.
source "$(dirname "$0")/common.sh"

need_packages "the conformance cases"
EXBURN_COVERAGE=test/nx/COVERAGE.md run mix test --only conformance
