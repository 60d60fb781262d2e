#!/usr/bin/env bash
# Runs one command under a heading and says how long it took.
#
#   scripts/step.sh HEADING COMMAND [ARGUMENT...]
set -uo pipefail
heading=$1
shift
printf '\n==> %s\n' "$heading"
started=$SECONDS
"$@"
status=$?
if [ "$status" -eq 0 ]; then
    printf '<== %s: %d s\n' "$heading" "$((SECONDS - started))"
else
    printf '<== %s: FAILED with status %d after %d s: %s\n' \
        "$heading" "$status" "$((SECONDS - started))" "$*" >&2
fi
exit "$status"
