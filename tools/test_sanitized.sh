#!/usr/bin/env bash
# Builds the core with an instrumented preset (asan-ubsan by default, tsan, coverage) and runs
# core_tests in one process per processor, many tests in each, so that leftovers of one test
# meet the next.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${1:-asan-ubsan}

tools/build.sh --configure "$preset"
if [[ -z $(find tests/device tests/ops -name '*.cpp' -print -quit) ]]; then
  echo "test: tests/device and tests/ops hold no test" >&2
  exit 1
fi
cmake --build --preset "$preset"

# A test forks while other threads run, as users do.
export TSAN_OPTIONS="suppressions=$PWD/tests/thread_sanitizer.supp die_after_fork=0"
shards=$(nproc)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
processes=()
for ((shard = 0; shard < shards; ++shard)); do
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard \
    "build/$preset/tests/core_tests" --gtest_brief=1 >"$logs/$shard" 2>&1 &
  processes+=($!)
done
status=0
for ((shard = 0; shard < shards; ++shard)); do
  wait "${processes[shard]}" || status=1
  cat "$logs/$shard"
done
exit "$status"
