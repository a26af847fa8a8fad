#!/usr/bin/env bash
# Builds the NIF from source as one variant: build.sh [cpu|cuda|vulkan|metal]
# Without an argument it takes the best one that this machine has the driver for.
source "$(dirname "$0")/scripts/common.sh"

# Whether the dynamic linker knows a library.
has_library() {
  [[ $(PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null) == *"$1"* ]]
}

detect() {
  if [[ $(uname -s) == Darwin ]]; then
    echo metal
  elif has_library libcuda.so.1; then
    echo cuda
  elif has_library libvulkan.so.1; then
    echo vulkan
  else
    echo cpu
  fi
}

[[ $# -le 1 ]] || fail "usage: build.sh [cpu|cuda|vulkan|metal]"
variant=${1:-$(detect)}
case "$variant" in
  cpu | cuda | vulkan | metal) ;;
  *) fail "the variant $variant is none of cpu, cuda, vulkan, metal" ;;
esac
has_packages || fail "the Hex packages are missing: run make setup where Hex can be reached, or set EXBURN_DEPS_PATH"

say "Building the variant $variant"
export EXBURN_BUILD=1 EXBURN_VARIANT="$variant"
run mix compile --force
