#!/usr/bin/env bash
# Runs the Python tests in one pytest per processor, each with a share of the files. All run even
# when one fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${VENV:=${VIRTUAL_ENV:-$PWD/.venv}}"

shards=$(nproc)
mapfile -t files < <(find tests/python -name 'test_*.py' | sort)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
processes=()
for ((shard = 0; shard < shards; ++shard)); do
  share=()
  for ((i = shard; i < ${#files[@]}; i += shards)); do share+=("${files[i]}"); done
  [[ ${#share[@]} -eq 0 ]] && continue
  "$VENV/bin/python" -m pytest -q -p no:cacheprovider "${share[@]}" >"$logs/$shard" 2>&1 &
  processes+=($!)
done
status=0
for process in "${processes[@]}"; do wait "$process" || status=1; done
cat "$logs"/*
exit "$status"
