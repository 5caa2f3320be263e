#!/usr/bin/env bash
# Builds the core with an instrumented preset (asan-ubsan by default, tsan, coverage) and runs
# core_tests in one process per processor, many tests in each, so that leftovers of one test
# meet the next.
# `test_sanitized.sh --library` instruments the library alone, with ASan and UBSan, and runs the
# core_tests of build/release with it: the tests take longer to compile than the library. Their own
# code is then not checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${1:-asan-ubsan}
environment=()

if [[ -z $(find tests/device tests/ops -name '*.cpp' -print -quit) ]]; then
  echo "test: tests/device and tests/ops hold no test" >&2
  exit 1
fi
if [[ $preset == --library ]]; then
  preset=asan-ubsan
  tests=build/release/tests/core_tests
  library=$PWD/build/$preset/libneuron_sim_core.so
  tools/build.sh --configure "$preset"
  cmake --build --preset "$preset" --target neuron_sim_core
  # A program without AddressSanitizer must load its runtime before every other library.
  runtime=$(ldd "$library" | awk '$1 ~ /asan/ { print $3 }')
  environment=("LD_LIBRARY_PATH=$(dirname "$library")" "LD_PRELOAD=$runtime")
  loaded=$(env "${environment[0]}" ldd "$tests" | awk '/libneuron_sim_core/ { print $3 }')
  if [[ -z $runtime || ! $loaded -ef $library ]]; then
    echo "test: $tests loads '$loaded', not $library with AddressSanitizer" >&2
    exit 1
  fi
else
  tests=build/$preset/tests/core_tests
  tools/build.sh --configure "$preset"
  cmake --build --preset "$preset"
fi

# A test forks while other threads run, as users do.
export TSAN_OPTIONS="suppressions=$PWD/tests/thread_sanitizer.supp die_after_fork=0"
shards=$(nproc)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
processes=()
for ((shard = 0; shard < shards; ++shard)); do
  env "${environment[@]}" GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard \
    "$tests" --gtest_brief=1 >"$logs/$shard" 2>&1 &
  processes+=($!)
done
status=0
for ((shard = 0; shard < shards; ++shard)); do
  wait "${processes[shard]}" || status=1
  cat "$logs/$shard"
done
exit "$status"
