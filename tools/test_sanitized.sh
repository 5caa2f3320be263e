#!/usr/bin/env bash
# Builds the core with a sanitizer preset (default asan-ubsan) and runs core_tests in one process,
# so that what one test leaks or leaves behind meets the next.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${1:-asan-ubsan}

tools/build.sh --configure "$preset"
ninja -C "build/$preset" -t targets all | grep -q '^core_tests:' || {
  echo "test: no core tests yet"
  exit
}
cmake --build --preset "$preset"
"build/$preset/tests/core_tests" --gtest_brief=1
