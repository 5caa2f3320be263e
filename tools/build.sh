#!/usr/bin/env bash
# Configures and builds one preset in build/<preset>; for release also installs the Python packages
# into the environment VENV. `build.sh package` builds and installs both packages alone,
# `build.sh demo` also the C++ program of the demo, `build.sh --configure PRESET` only configures.
# BUILD names another folder than build/release for the packages of an environment beside .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${VENV:=${VIRTUAL_ENV:-$PWD/.venv}}"
# One name however CMake is started: another compiler would configure build/release anew.
export CXX=${CXX:-g++}

# Configures again only when the environment, the presets or the files that clang-tidy reads from
# the compile commands change; ninja sees the rest.
configure() {
  local preset=$1 stamp="build/$1/.configured" key
  key="$VENV $CXX $(cat CMakePresets.json requirements-dev.txt | sha256sum) $(
    find device ops -name '*.cpp' | sort | sha256sum)"
  [[ -f "build/$preset/build.ninja" && -f "$stamp" && $(<"$stamp") == "$key" ]] && return
  echo "build: configuring build/$preset"
  cmake --preset "$preset" "-DPython_EXECUTABLE=$VENV/bin/python" --log-level=WARNING
  echo "$key" >"$stamp"
}

# A hash of the files and folders named, without what Python and lint write there.
hash_of() {
  find "$@" -type f -not -name '*.pyc' -not -name _core.pyi -print0 | sort -z |
    xargs -0 sha256sum | sha256sum
}

# Installs the package whose pyproject.toml is in the folder $2, unless its files have the hash $3
# of the last time. pip builds in build/release too, so that nothing is compiled twice; tests,
# models and benchmarks are configured there but built by the preset only.
install_package() {
  local stamp="$VENV/.neuron_sim_$1" build=${BUILD:-$PWD/build/release} key metadata define
  local options=() before=()
  key="$PWD $3" metadata=$(sha256sum <"$2/pyproject.toml")
  [[ -f $stamp ]] && mapfile -t before <"$stamp"
  [[ ${before[0]:-} == "$key" ]] && return
  echo "build: building the package $1 and installing it into $VENV"
  rm -f "$stamp"
  # All of the layer's files are CMake's: pip, which packs 44 MB of oneDNN, need not install again.
  if [[ $1 == neuron_sim_torch && ${before[1]:-} == "$metadata" ]] &&
    grep -qs "^Python_EXECUTABLE:PATH=$VENV/bin/python" "$build/CMakeCache.txt"; then
    cmake --build "$build" --target torch_neuron_sim _C
    cmake --install "$build" --component torch --strip --prefix "$(
      "$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')" >/dev/null
  else
    # The long option, each key once: pip 23.0, which Debian 12 puts into environments, has no -C
    # and takes the last value of a key.
    for define in TORCH TESTS MODELS BENCHMARKS; do
      options+=("--config-settings=cmake.define.NEURON_SIM_$define=ON")
    done
    PATH="$VENV/bin:$PATH" "$VENV/bin/python" -m pip --disable-pip-version-check install --quiet \
      --no-build-isolation --no-deps "$2" "${options[@]}" "--config-settings=build-dir=$build"
  fi
  printf '%s\n' "$key" "$metadata" >"$stamp"
}

# The core, and the PyTorch layer for the torch of the environment. A change of Python alone, or of
# a source file of the core, leaves the layer as it is.
install_packages() {
  local shared=(CMakeLists.txt cmake)
  install_package neuron_sim . "$(hash_of "${shared[@]}" device ops pyproject.toml \
    python_bindings/core_module python_bindings/neuron_sim)"
  install_package neuron_sim_torch ./csrc "$(hash_of "${shared[@]}" csrc ops/reference \
    python_bindings/torch_module python_bindings/neuron_sim_torch) $(
    find device ops -name '*.h' -print0 | sort -z | xargs -0 sha256sum | sha256sum)"
}

case $1 in
  --configure) configure "$2" ;;
  package) install_packages ;;
  demo)
    install_packages
    cmake --build --preset release --target model_digits_cnn
    ;;
  *)
    configure "$1"
    if [[ $1 == release ]]; then install_packages; fi
    echo "build: compiling build/$1"
    cmake --build --preset "$1"
    ;;
esac
