#!/usr/bin/env bash
# Measures other simulators beside this one, and writes their table in docs/performance.md. They
# live in build/peers, an environment apart; one that cannot be installed has rows that say so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${PYTHON:=python3}"
environment=build/peers

[[ -x $environment/bin/python ]] || "$PYTHON" -m venv "$environment"
# SCALE-Sim 3.0.0 makes integers of arrays of one element, which NumPy 2.4 refuses.
for package in 'scalesim==3.0.0 numpy<2.4' 'jax==0.10.2 numpy<2.4'; do
  read -ra words <<<"$package"
  "$environment/bin/python" -m pip --disable-pip-version-check install --quiet "${words[@]}" ||
    echo "bench-peers: ${words[0]} cannot be installed" >&2
done
python benchmarks/run_peers.py "$environment/bin/python" >build/peers.json
python tools/write_performance_docs.py --peers build/peers.json
