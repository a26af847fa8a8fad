#!/usr/bin/env bash
# Release artifacts for this machine: built, packed, inspected, checksummed and
# verified in dist/.
#
#     make dist VARIANTS="cpu vulkan cuda"
#     make dist TARGETS="x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu"
source "$(dirname "$0")/common.sh"

read -ra targets <<<"${TARGETS:-$(host_target)}"
read -ra variants <<<"${VARIANTS:-}"

release_tool() {
  cargo run --quiet --release --locked --package ex_burn_dist -- "$@"
}

# Zig links for the oldest glibc that an artifact must load on, and for other
# machines; this machine's own linker does neither.
compiler() {
  if [[ $1 =~ -linux-(gnu|musl)$ ]] && has cargo-zigbuild; then
    echo zigbuild
  else
    echo cargo
  fi
}

if [[ ${targets[*]} == *-linux-gnu* ]] && ! has cargo-zigbuild; then
  warn "cargo-zigbuild is missing (pip install cargo-zigbuild ziglang): the artifacts may need this machine's glibc, and are refused if that is newer than a release allows"
fi

rm -rf dist
for target in "${targets[@]}"; do
  build=(build --with "$(compiler "$target")" --target "$target")
  if [[ ${#variants[@]} -eq 0 ]]; then
    run release_tool "${build[@]}"
  fi
  for variant in "${variants[@]}"; do
    run release_tool "${build[@]}" --variant "$variant"
  done
  release_tool licences --target "$target" >"dist/LICENCES-$target.txt"
done
run release_tool checksum --file "dist/$checksum_file" dist
run release_tool verify --file "dist/$checksum_file" dist
