#!/usr/bin/env bash
# Removes what was built in this folder; a cargo folder elsewhere stays.
source "$(dirname "$0")/common.sh"

run rm -rf _build cover dist doc priv/native target
