#!/usr/bin/env bash
# Fails if a release binary is too large. docs/adr/0042-size-of-the-binary.md says what keeps it small.
#
#   scripts/check-size.sh BINARY
set -euo pipefail
MIB_MAX=40

bytes=$(stat --dereference --format %s "$1")
max=$((MIB_MAX * 1024 * 1024))
mib=$((bytes * 100 / 1024 / 1024))
printf '%s has %d.%02d MiB; the limit is %d MiB\n' "$1" $((mib / 100)) $((mib % 100)) "$MIB_MAX"
if [ "$bytes" -ge "$max" ]; then
    printf 'it is %d bytes too large\n' "$((bytes - max + 1))" >&2
    exit 1
fi
