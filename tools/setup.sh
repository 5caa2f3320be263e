#!/usr/bin/env bash
# Brings a fresh Debian 12 to the point where everything builds: system packages, a virtual
# environment, the Python packages of requirements-dev.txt. Does nothing when nothing is missing.
# `setup.sh demo` installs what the demo needs, `setup.sh lint` also the programs that only lint
# needs. VENV names the environment; PYTHON the interpreter it is created from; TORCH a release of
# torch other than the locked one, beside which the newest packages are installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${VENV:=${VIRTUAL_ENV:-$PWD/.venv}}" "${PYTHON:=python3}"

has_program() { command -v "$1" >/dev/null; }
has_header() { echo "#include <$1>" | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1; }
python_has() { has_program "$PYTHON" && "$PYTHON" -c "$1" 2>/dev/null; }

# Prints the Debian packages that are missing for $1 (demo, build or lint), one per line.
missing_packages() {
  has_program g++ || echo g++
  has_program cmake || echo cmake
  has_program ninja || echo ninja-build
  has_program ccache || echo ccache
  if [[ $1 == lint ]]; then
    has_program clang-format || echo clang-format
    has_program clang-tidy || echo clang-tidy
  fi
  has_header fmt/format.h || echo libfmt-dev
  has_header toml++/toml.h || echo libtomlplusplus-dev
  has_header gtest/gtest.h || echo libgtest-dev
  python_has 'import ensurepip, venv' || echo python3-venv
  python_has 'import os, sysconfig
open(os.path.join(sysconfig.get_path("include"), "Python.h")).close()' || echo python3-dev
}

install_system_packages() {
  local packages
  mapfile -t packages < <(missing_packages "$1")
  [[ ${#packages[@]} -eq 0 ]] && return
  if [[ $(id -u) -ne 0 ]] || ! has_program apt-get; then
    echo "setup: system packages are missing. Install them as root, then try again:" >&2
    echo "  apt-get install --no-install-recommends ${packages[*]}" >&2
    exit 1
  fi
  echo "setup: installing system packages: ${packages[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
}

create_environment() {
  [[ -x "$VENV/bin/python" ]] && return
  echo "setup: creating the virtual environment $VENV"
  python_has 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "setup: $PYTHON is older than Python 3.11; name another: make setup PYTHON=..." >&2
    exit 1
  }
  "$PYTHON" -m venv "$VENV"
}

# The build of torch that pip chooses without hashes: told them, it prefers a wheel of an index that
# states them (with CUDA, 5 GB) to a wheel in a folder of PIP_FIND_LINKS. The hash is checked after.
install_torch() {
  local folder
  folder=$(mktemp -d)
  sed -n '/^torch==/,/[^\\]$/p' requirements-lock.txt >"$folder/torch.txt"
  "$VENV/bin/python" -m pip --disable-pip-version-check download --quiet --no-deps \
    --dest "$folder" "$(sed -n 's/^\(torch==[^ ]*\).*/\1/p' "$folder/torch.txt")"
  "$VENV/bin/python" -m pip --disable-pip-version-check install --quiet --no-compile --no-deps \
    --no-index --find-links "$folder" --require-hashes -r "$folder/torch.txt"
  rm -rf "$folder"
}

# Whether the torch of the environment is built for CUDA.
has_cuda() { ! grep -qs '^cuda:.* = None' "$VENV"/lib/python3.*/site-packages/torch/version.py; }

# Of a section of the requirements: what the packages and the demo need, or the rest.
section() {
  if [[ $1 == demo ]]; then sed '/^# The other targets:/,$d' "$2"
  else sed '1,/^# The other targets:/d' "$2"; fi
}

install_section() {
  local key stamp="$VENV/.neuron_sim_setup_$1" folder
  key="${TORCH:-} $(cat requirements-dev.txt requirements-lock.txt tools/setup.sh | sha256sum)"
  [[ -f "$stamp" && $(<"$stamp") == "$key" ]] && return
  # Python compiles the modules that are imported; few of torch's and of what it needs are.
  local pip=("$VENV/bin/python" -m pip --disable-pip-version-check install --quiet --no-compile)
  echo "setup: installing the packages that ${2}"
  folder=$(mktemp -d)
  section "$1" requirements-lock.txt >"$folder/lock.txt"
  section "$1" requirements-dev.txt >"$folder/requirements.txt"
  if [[ -n ${TORCH:-} ]]; then sed -i "s/^torch==.*/torch==$TORCH/" "$folder/requirements.txt"
  else
    if [[ $1 == demo ]]; then install_torch; fi
    "${pip[@]}" --require-hashes --no-deps -r "$folder/lock.txt"
  fi
  # The packages that a torch with CUDA needs; a lock file names none of them.
  if [[ -n ${TORCH:-} ]] || has_cuda; then "${pip[@]}" -r "$folder/requirements.txt"; fi
  rm -rf "$folder"
  echo "$key" >"$stamp"
}

install_system_packages "${1:-build}"
create_environment
install_section demo "the package and its demo need"
if [[ ${1:-} != demo ]]; then install_section others "the other targets need"; fi
echo "setup: ready ($VENV)"
