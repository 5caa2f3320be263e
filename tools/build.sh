#!/usr/bin/env bash
# Configures and builds one preset in build/<preset>; for release also installs the Python package
# into the environment VENV. `build.sh --configure PRESET` only configures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${VENV:=${VIRTUAL_ENV:-$PWD/.venv}}"
# Under one name in both build trees: ccache tells g++ from c++.
export CXX=${CXX:-g++}

# Configures again only when the environment or the presets change; ninja sees the rest.
configure() {
  local preset=$1 stamp="build/$1/.configured" key
  key="$VENV $CXX $(cat CMakePresets.json requirements-dev.txt | sha256sum)"
  [[ -f "build/$preset/build.ninja" && -f "$stamp" && $(<"$stamp") == "$key" ]] && return
  echo "build: configuring build/$preset"
  cmake --preset "$preset" "-DPython_EXECUTABLE=$VENV/bin/python" --log-level=WARNING
  echo "$key" >"$stamp"
}

# A hash of every file that goes into the package.
package_key() {
  local paths=() path
  for path in device ops csrc python_bindings cmake CMakeLists.txt pyproject.toml; do
    [[ -e $path ]] && paths+=("$path")
  done
  find "${paths[@]}" -type f -not -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum | sha256sum
}

# The package has a build tree of its own (build/package); ccache has its objects already.
install_package() {
  [[ -f python_bindings/neuron_sim/__init__.py ]] || return 0
  local stamp="$VENV/.neuron_sim_package" key
  key="$PWD $(package_key)"
  if [[ -f "$stamp" && $(<"$stamp") == "$key" ]]; then
    echo "build: the installed package is up to date"
    return
  fi
  echo "build: installing the package neuron_sim into $VENV"
  rm -f "$stamp"
  "$VENV/bin/python" -m pip --disable-pip-version-check install --quiet --no-build-isolation \
    --no-deps .
  echo "$key" >"$stamp"
}

if [[ $1 == --configure ]]; then
  configure "$2"
  exit
fi
configure "$1"
echo "build: compiling build/$1"
cmake --build --preset "$1"
if [[ $1 == release ]]; then install_package; fi
