#!/usr/bin/env bash
# Runs every benchmark: the programs of benchmarks/*.cpp, then benchmarks/bench_*.py.
# bench_speed.py runs timeline_rate and host_peak itself.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

shopt -s nullglob extglob
for source in benchmarks/*.cpp; do
  [[ $source == benchmarks/@(timeline_rate|host_peak).cpp ]] && continue
  echo "bench: $source"
  "build/release/benchmarks/$(basename "$source" .cpp)"
done
for script in benchmarks/bench_*.py; do
  echo "bench: $script"
  python "$script"
done
