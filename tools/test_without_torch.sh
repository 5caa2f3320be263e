#!/usr/bin/env bash
# Installs wheels of neuron_sim into new environments without torch, and runs there the suites of
# kernels, timelines and commands; tests/python/conftest.py leaves out what needs torch. Prints for
# each wheel how long an installation and a first timeline page took, its size, and how many tests
# ran and were left out.
#
# Usage: test_without_torch.sh [WHEEL ...], without wheels those of dist/ for Python 3.12 and 3.13.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

suites=(nki timeline command_line core_module sweep tune fidelity run/test_run_command.py
  package/test_extras.py test_hardware.py test_timing.py test_new_generation.py)
if [[ $# -eq 0 ]]; then set -- dist/neuron_sim-*-cp31[23]-*.whl; fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
for wheel in "$@"; do
  version=$(sed -E 's/.*-cp3([0-9]+)-.*/3.\1/' <<<"$wheel")
  base=$(python3 -c "import sys; sys.path.insert(0, 'tools'); import build_wheels
print(build_wheels.interpreter('$version'))")
  environment=$folder/python$version
  pip=("$environment/bin/python" -m pip --disable-pip-version-check install --quiet)

  SECONDS=0
  "$base" -m venv "$environment"
  "${pip[@]}" "$wheel"
  "$environment/bin/neuron-sim" run --timeline "$folder/page.html" --advice \
    models/nki/vector_add.py
  test -s "$folder/page.html"
  echo "without torch: Python $version: $SECONDS s from the wheel to a kernel's time and page," \
    "$(du -sm "$environment" | cut -f1) MB"

  "${pip[@]}" "${wheel}[sweep,profile]" scipy pytest pytest-xdist hypothesis
  "$environment/bin/python" -m pytest -q -p no:cacheprovider -n "$(nproc)" --dist loadfile \
    "${suites[@]/#/tests/python/}" | tee "$folder/log" || failed=1
  left_out=$(sed -nE 's/^SKIPPED \[([0-9]+)\].*(torch is not|import .torch.).*/\1/p' "$folder/log" |
    awk '{ sum += $1 } END { print sum + 0 }')
  echo "without torch: Python $version: $(tail -n 1 "$folder/log");" \
    "$left_out tests or files of tests were left out because they need torch"
done
exit "$failed"
