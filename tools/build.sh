#!/usr/bin/env bash
# Configures and builds one preset in build/<preset>; for release also installs the Python package
# into the environment VENV. `build.sh package` builds and installs the package alone,
# `build.sh demo` also the C++ program of the demo, `build.sh --configure PRESET` only configures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${VENV:=${VIRTUAL_ENV:-$PWD/.venv}}"
# One name however CMake is started: another compiler would configure build/release anew.
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

# pip builds the libraries and modules in build/release too, so that nothing is compiled twice;
# tests, models and benchmarks are configured there but built by the preset only.
install_package() {
  local stamp="$VENV/.neuron_sim_package" key define options=()
  key="$PWD $(package_key)"
  if [[ -f "$stamp" && $(<"$stamp") == "$key" ]]; then
    echo "build: the installed package is up to date"
    return
  fi
  # The long option, each key once: pip 23.0, which Debian 12 puts into environments, has no -C and
  # takes the last value of a key.
  for define in TESTS MODELS BENCHMARKS; do
    options+=("--config-settings=cmake.define.NEURON_SIM_$define=ON")
  done
  echo "build: building the package neuron_sim and installing it into $VENV"
  rm -f "$stamp"
  PATH="$VENV/bin:$PATH" "$VENV/bin/python" -m pip --disable-pip-version-check install --quiet \
    --no-build-isolation --no-deps . "${options[@]}" \
    --config-settings=build-dir=build/release \
    "--config-settings=build.targets=torch_neuron_sim;_core;_C;core_stub"
  echo "$key" >"$stamp"
}

case $1 in
  --configure) configure "$2" ;;
  package) install_package ;;
  demo)
    install_package
    cmake --build --preset release --target model_digits_cnn
    ;;
  *)
    configure "$1"
    if [[ $1 == release ]]; then install_package; fi
    echo "build: compiling build/$1"
    cmake --build --preset "$1"
    ;;
esac
