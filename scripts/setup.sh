#!/usr/bin/env bash
# Installs what is missing, fetches the dependencies and builds.
source "$(dirname "$0")/common.sh"
source scripts/toolchain.sh

# Any answer will do; only silence means that Hex can't be reached.
hex_answers() {
  curl --silent --output /dev/null --connect-timeout 5 --max-time 10 \
    "${HEX_MIRROR:-https://repo.hex.pm}/public_key"
}

fetch_packages() {
  if [[ -n ${EXBURN_DEPS_PATH:-} ]]; then
    run mix deps.get
  elif hex_answers; then
    run mix local.hex --force --if-missing
    run mix local.rebar --force --if-missing
    run mix deps.get
  elif has_packages; then
    say "Hex can't be reached; going on with the packages in deps/"
  else
    warn "Hex can't be reached and EXBURN_DEPS_PATH isn't set: going on without Hex packages"
  fi
}

need_rust
need_elixir
fetch_packages

run cargo build --release -p ex_burn_nif
if has_packages; then
  run mix compile
fi
