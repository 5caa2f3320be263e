#!/usr/bin/env bash
# Runs the Python tests in one process per processor, which take the files one by one. All run even
# when one fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${VENV:=${VIRTUAL_ENV:-$PWD/.venv}}"

"$VENV/bin/python" -m pytest -q -p no:cacheprovider -n "$(nproc)" --dist loadfile tests/python
