#!/usr/bin/env bash
# Runs the Python tests in one process per processor, which take the files one by one. All run even
# when one fails. A sample of those that name the device runs first, under the vendor's name
# of it; what the vendor's semantics change has tests of its own.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${VENV:=${VIRTUAL_ENV:-$PWD/.venv}}"

failed=0
run() {
  "$VENV/bin/python" -m pytest -q -p no:cacheprovider -n "$(nproc)" --dist loadfile "$@" || failed=1
}

mapfile -t suites < <(grep -rl --include='test_*.py' 'device_type import' tests/python)
NEURON_SIM_DEVICE=neuron NEURON_SIM_SEMANTICS=torch run --one-in 12 "${suites[@]}"
run tests/python
exit "$failed"
