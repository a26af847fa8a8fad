#!/usr/bin/env bash
# The largest errors of the transcendental functions, against mpmath, into
# bench/ACCURACY.md.
source "$(dirname "$0")/common.sh"

need_packages "the functions"
python3 -c 'import mpmath' || fail "this needs Python with mpmath: pip install mpmath"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
export PYTHONDONTWRITEBYTECODE=1

run python3 bench/accuracy/accuracy.py inputs "$folder"
run mix run bench/accuracy/outputs.exs "$folder"
say "bench/ACCURACY.md"
python3 bench/accuracy/accuracy.py table "$folder" | tee "$folder/table"
mv "$folder/table" bench/ACCURACY.md
