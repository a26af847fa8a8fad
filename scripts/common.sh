# shellcheck shell=bash
# Sourced first by every script: goes to the repository root, and holds what
# more than one of them needs.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

checksum_file=checksum-Elixir.ExBurn.Nif.exs

# A checkout between releases has no artifact to download. What works on it
# chooses the GPU itself.
if ! grep -q sha256 "$checksum_file"; then
  export EXBURN_BUILD="${EXBURN_BUILD:-1}" EXBURN_VARIANT="${EXBURN_VARIANT:-cpu}"
fi

say() {
  printf '\n==> %s\n' "$*"
}

# Prints a step, then does it.
run() {
  say "$*"
  "$@"
}

# Says what can't be missed: where a run did less than its name promises.
warn() {
  printf '\n*** %s ***\n' "$*" >&2
}

fail() {
  printf '\nerror: %s\n' "$*" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null
}

# Whether the Hex packages are at hand; `make setup` fetches them.
has_packages() {
  [[ -n ${EXBURN_DEPS_PATH:-} || -d ${MIX_DEPS_PATH:-deps}/nx ]]
}

# Ends what is called "$1" where they are missing.
need_packages() {
  has_packages || fail "$1 need the Hex packages: run make setup where Hex can be reached, or set EXBURN_DEPS_PATH"
}

# The folder that cargo builds into.
cargo_target() {
  echo "${CARGO_TARGET_DIR:-$PWD/target}"
}

host_target() {
  rustc -vV | sed -n 's/^host: //p'
}

# The file that cargo leaves for the NIF on this machine.
native_library() {
  case "$(uname -s)" in
    Darwin) echo libex_burn_nif.dylib ;;
    MINGW* | MSYS*) echo ex_burn_nif.dll ;;
    *) echo libex_burn_nif.so ;;
  esac
}
