#!/usr/bin/env bash
# Every check that needs no test run. All run even when one fails; ends non-zero if any failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=()
run() {
  local name=$1
  shift
  echo "lint: $name"
  "$@" || failed+=("$name")
}

mapfile -t cpp_files < <(find device ops csrc python_bindings models benchmarks tests examples \
  \( -name '*.h' -o -name '*.cpp' \) 2>/dev/null | sort)
mapfile -t typed < <(find python_bindings models tools -name '*.py' 2>/dev/null | sort)

if [[ ${#cpp_files[@]} -gt 0 ]]; then
  run "clang-format" clang-format --dry-run -Werror "${cpp_files[@]}"
fi
run "ruff check" ruff check --quiet .
run "ruff format" ruff format --check --quiet .
run "types of _core" python tools/core_stub.py
run "mypy" mypy "${typed[@]}"
run "include directions" python tools/checks/check_include_directions.py
run "rooms" python tools/checks/check_rooms.py
run "hardware literals" python tools/checks/check_hardware_literals.py
run "lengths, suppressed warnings and test names" python tools/checks/check_files.py
run "costs of recipes" python tools/checks/count_recipes.py
run "line budget" python tools/checks/line_budget.py
run "lock file" python tools/lock.py --check
run "clang-tidy" tools/clang_tidy.sh "$@"

for name in "${failed[@]}"; do echo "lint: FAILED: $name" >&2; done
exit $((${#failed[@]} > 0))
