#!/usr/bin/env bash
# Runs the tests, and lists afterwards how many did not run on this machine, and why. The test runner hides what a test prints that
# passes, so tests write their reasons into a file (crates/weir-testkit/src/skip.rs). With CI set, only listed reasons pass.
#
#   scripts/skips.sh FILE COMMAND [ARGUMENT...]
set -uo pipefail
mkdir -p "$(dirname "$1")"
WEIR_TEST_SKIPS=$(realpath "$1")
export WEIR_TEST_SKIPS
shift
: > "$WEIR_TEST_SKIPS"
"$@"
status=$?
printf 'Skipped on this machine: %d\n' "$(wc -l < "$WEIR_TEST_SKIPS")"
sort "$WEIR_TEST_SKIPS" | uniq -c | sort -rn
exit "$status"
