#!/usr/bin/env bash
# Release artifacts for this machine: built, packed, inspected, checksummed and
# verified in dist/.
#
#     make dist VARIANTS="cpu vulkan cuda"
source "$(dirname "$0")/common.sh"

target=$(host_target)
read -ra variants <<<"${VARIANTS:-}"

release_tool() {
  cargo run --quiet --release --locked --package ex_burn_dist -- "$@"
}

# Zig links for the oldest glibc that an artifact must load on; this machine's
# own linker only for its own.
compiler=cargo
if [[ $target == *-linux-gnu ]]; then
  if has cargo-zigbuild; then
    compiler=zigbuild
  else
    warn "cargo-zigbuild is missing (pip install cargo-zigbuild ziglang): the artifacts may need this machine's glibc, and are refused if that is newer than a release allows"
  fi
fi

rm -rf dist
if [[ ${#variants[@]} -eq 0 ]]; then
  run release_tool build --with "$compiler" --target "$target"
fi
for variant in "${variants[@]}"; do
  run release_tool build --with "$compiler" --target "$target" --variant "$variant"
done
run release_tool checksum --file "dist/$checksum_file" dist
run release_tool verify --file "dist/$checksum_file" dist
release_tool licences --target "$target" >dist/LICENCES.txt
