#!/usr/bin/env bash
# Cross-builds for arm64 Linux: a root of Debian's arm64 packages in build/arm64/root; the wheels of
# one Python and torch in dist/, of which the root gets both but no torch; the core tests in
# build/arm64/tree. `arm64.sh test` then runs some core tests, suites of NKI and the time of a
# kernel under qemu-user: whether bytes and times are those of x86-64, not how fast.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${VENV:=${VIRTUAL_ENV:-$PWD/.venv}}"

versions=$("$VENV/bin/python" -c 'import sys
from importlib.metadata import version
print(*sys.version_info[:2], *version("torch").split(".")[:2])')
read -r major minor torch_major torch_minor <<<"$versions"
python=$major.$minor torch=$torch_major.$torch_minor
root=$PWD/build/arm64/root
site=$root/usr/local/lib/python$python/dist-packages
emulated() { qemu-aarch64 -L "$root" -E PYTHONDONTWRITEBYTECODE=1 "$@"; }

install_programs() {
  local missing=()
  command -v aarch64-linux-gnu-g++ >/dev/null || missing+=(g++-aarch64-linux-gnu)
  command -v qemu-aarch64 >/dev/null || missing+=(qemu-user)
  command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
  [[ ${#missing[@]} -eq 0 ]] && return
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# Runs what it is given unless it did before with the same key.
once() {
  local stamp=build/arm64/.$1 key=$2
  [[ -f $stamp && $(<"$stamp") == "$key" ]] && return
  "${@:3}"
  echo "$key" >"$stamp"
}

# Of the release that the compiler's C library is of. No script of a package runs.
make_root() {
  echo "arm64: making build/arm64/root of Debian's packages"
  rm -rf "$root" build/arm64/.index build/arm64/.wheels
  mmdebstrap --quiet --arch=arm64 --variant=extract "--include=$packages" \
    "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" "$root"
  if [[ ! -x $root/usr/bin/python$python ]]; then
    echo "arm64: Debian's release of this host has no Python $python, which $VENV has" >&2
    exit 1
  fi
}

# Wheels of the index, for a Python that does not run here.
install_from_index() {
  local platform options=()
  for platform in 34 28 27 17; do options+=(--platform "manylinux_2_${platform}_aarch64"); done
  "$VENV/bin/python" -m pip --disable-pip-version-check install --quiet --no-compile --upgrade \
    --target "$site" --only-binary=:all: --python-version "$python" "${options[@]}" "$@"
}

build_wheels() {
  echo "arm64: building wheels"
  "$VENV/bin/python" tools/core_stub.py
  "$VENV/bin/python" tools/build_wheels.py --machine aarch64 --python "$python" --torch "$torch"
  install_from_index --no-deps dist/neuron_sim*-"cp$major$minor"-*_aarch64.whl
}

build() {
  install_programs
  mkdir -p build/arm64
  once root "$packages" make_root
  once index "$index" install_from_index $index
  once wheels "$(git ls-files -s | sha256sum) $(git diff | sha256sum)" build_wheels
  echo "arm64: compiling the core tests"
  cmake --preset arm64 "-DPython_EXECUTABLE=$VENV/bin/python" --log-level=WARNING
  cmake --build --preset arm64
}

# A kernel's time in picoseconds, by an interpreter.
time_of_kernel() {
  "$@" -c 'import neuron_sim
timed = neuron_sim.time_kernel("matmul", [[2048, 2048], [2048, 2048]], "bfloat16", "trn2", {})
print(round(timed.body_us * 1e6))'
}

run_tests() {
  local interpreter=(emulated "$root/usr/bin/python$python") here there
  emulated build/arm64/tree/tests/core_tests --gtest_brief=1 --gtest_filter="$core"
  "${interpreter[@]}" -m pytest -q -p no:cacheprovider "${suites[@]}"
  here=$(time_of_kernel "$VENV/bin/python") there=$(time_of_kernel "${interpreter[@]}")
  echo "arm64: a matmul takes $there ps, on this host $here ps"
  [[ $here == "$there" ]]
}

packages=python3-minimal,libpython3-stdlib,libstdc++6,libgomp1
packages+=,libfmt-dev,libtomlplusplus-dev,libgtest-dev
index="numpy ml_dtypes rich rich-argparse argcomplete pytest hypothesis"
core='ProductKernel*:*TileMultiply*:NcMatmul*:*Dtype*:*Functions*:Operators*:Reduction*'
core+=':KernelTimes*'
suites=(tests/python/nki/test_first_kernels.py tests/python/nki/isa/test_isa_matrix.py)

build
if [[ ${1:-} == test ]]; then run_tests; fi
