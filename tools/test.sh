#!/usr/bin/env bash
# Runs all tests of the release build: the core tests on a sanitized library, C++ through ctest,
# Python through pytest, the numeric ones once more as on other hosts. All run even when one fails;
# the end is non-zero if any failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${VENV:=${VIRTUAL_ENV:-$PWD/.venv}}"

failed=()
run() {
  local name=$1
  shift
  echo "test: $name"
  "$@" || failed+=("$name")
}

run "core tests on a library with AddressSanitizer and UndefinedBehaviorSanitizer" \
  tools/test_sanitized.sh --library
run "ctest" ctest --test-dir build/release --output-on-failure --no-tests=error -j2
run "numbers as on other hosts" tools/test_other_hosts.sh
run "pytest" tools/test_python.sh

for name in "${failed[@]}"; do echo "test: FAILED: $name" >&2; done
exit $((${#failed[@]} > 0))
