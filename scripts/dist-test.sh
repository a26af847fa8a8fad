#!/usr/bin/env bash
# The installed-from-artifact path, end to end, on loopback. QUICK=1 leaves out
# the build from source, which takes minutes.
source "$(dirname "$0")/common.sh"

has_packages || fail "the installation needs the Hex packages: run make setup where Hex can be reached, or set EXBURN_DEPS_PATH"
compgen -G "dist/*.tar.gz" >/dev/null || fail "there is no artifact in dist/: run make dist"

has qemu-x86_64 || warn "NOT RUN: the library on an old CPU, for want of qemu-x86_64 (qemu-user)"

if compgen -G "dist/*-aarch64-unknown-linux-gnu.so.tar.gz" >/dev/null; then
  if [[ -z ${EXBURN_AARCH64_ROOT:-} ]] || ! has qemu-aarch64; then
    warn "NOT RUN: the library on AArch64, for want of qemu-aarch64 (qemu-user) or EXBURN_AARCH64_ROOT"
  fi
elif [[ -n ${EXBURN_AARCH64_ROOT:-} ]]; then
  fail "there is no artifact for AArch64 in dist/: run make dist with TARGETS"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# As it is published: with Hex packages for dependencies, not folders.
run env -u EXBURN_DEPS_PATH mix hex.build --unpack --output "$work/ex_burn"

# What is built from source is built like the rest, so that they share the crates.
CARGO_TARGET_DIR=$(cargo_target)
export CARGO_TARGET_DIR
export EXBURN_PACKAGE="$work/ex_burn" EXBURN_ARTIFACTS="$PWD/dist"
run elixir -r test/support/http_server.ex test/dist/install.exs
