#!/usr/bin/env bash
# Runs clang-tidy on the sources of device/ and ops/ that differ from the last commit but one (what
# is being worked on and what was just committed); `clang_tidy.sh --all` on every one. The commands
# are those of build/tidy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

changed() {
  git diff --name-only --diff-filter=d HEAD~1
  git ls-files --others --exclude-standard
}
sources() { grep -E '^(device|ops)/.*\.cpp$' || true; }

if [[ ${1:-} == --all ]] || ! git rev-parse --verify --quiet HEAD~1 >/dev/null; then
  mapfile -t files < <(find device ops -type f | sources)
else
  mapfile -t files < <(changed | sources | sort -u)
fi
echo "clang-tidy: ${#files[@]} files"
[[ ${#files[@]} -eq 0 ]] && exit
patterns=("${files[@]/#/^$PWD/}")

# omp.h is the compiler's; clang's other headers stay in front. clang 14 does not know the attribute
# __malloc__(deallocator) that GCC's omp.h uses.
run-clang-tidy -quiet -p build/tidy -extra-arg="-idirafter$(g++ -print-file-name=include)" \
  -extra-arg='-D__malloc__(deallocator)=' "${patterns[@]/%/\$}"
