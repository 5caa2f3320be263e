#!/usr/bin/env bash
# Runs the numeric tests once more as on other hosts: oneDNN, which computes the references, limited
# to older instruction sets by ONEDNN_MAX_CPU_ISA, and the device's products by the kernel that such
# a host has (device/isa/tensor/product_kernel.h). The hosts run beside each other, in a process
# each; all run even when one fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${VENV:=${VIRTUAL_ENV:-$PWD/.venv}}"

core='NcMatmul*:NcTranspose*:MatrixProduct.*:Architectures/RandomShapes.Matmul*:Reference.*'
core+=':Executor.KeepsFp32Copies*:ProductKernels/*'
python=(tests/python/custom_ops/test_custom_ops_values.py
  tests/python/nki/isa/test_isa_matrix.py)

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
processes=()
run() {
  local isa=$1 kernel=$2
  (
    export ONEDNN_MAX_CPU_ISA=$isa NEURON_SIM_PRODUCT_KERNEL=$kernel
    echo "test: numbers with oneDNN limited to $isa and products by the kernel $kernel"
    status=0
    build/release/tests/core_tests --gtest_brief=1 --gtest_filter="$core" || status=1
    "$VENV/bin/python" -m pytest -q -p no:cacheprovider "${python[@]}" || status=1
    exit "$status"
  ) >"$logs/$kernel" 2>&1 &
  processes+=($!)
}

if grep -qw fma /proc/cpuinfo; then run AVX2 avx2; fi
run SSE41 portable
failed=0
for process in "${processes[@]}"; do wait "$process" || failed=1; done
cat "$logs"/*
exit "$failed"
