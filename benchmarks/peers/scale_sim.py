"""SCALE-Sim's cycles of a problem, run by the interpreter that has it: scale_sim.py PROBLEM.

PROBLEM is JSON as of problems.py; the answer on standard output is, too: processor seconds of each
run, and what it found.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path

CONFIGURATION = """\
[general]
run_name = neuron_sim
[architecture_presets]
ArrayHeight: 128
ArrayWidth: 128
IfmapSramSzkB: 8192
FilterSramSzkB: 8192
OfmapSramSzkB: 8192
IfmapOffset: 0
FilterOffset: 100000000
OfmapOffset: 200000000
Bandwidth: 256
Dataflow: ws
ReadRequestBuffer: 512
WriteRequestBuffer: 512
[layout]
IfmapCustomLayout: False
IfmapSRAMBankBandwidth: 128
IfmapSRAMBankNum: 128
IfmapSRAMBankPort: 2
FilterCustomLayout: False
FilterSRAMBankBandwidth: 128
FilterSRAMBankNum: 128
FilterSRAMBankPort: 2
[sparsity]
SparsitySupport: false
[run_presets]
InterfaceBandwidth: CALC
UseRamulatorTrace: False
"""
"""An array like a NeuronCore's, its SBUF of 24 MiB in three buffers, a stationary operand."""

CONVOLUTION = ("height", "width", "kernel", "kernel", "inputs", "outputs", "stride")


def table(problem: dict) -> str:
    """The topology file: a header and one layer."""
    if problem["kind"] == "matmul":
        return "Layer,M,N,K,\nlayer,{rows},{columns},{inner},\n".format(**problem)
    sizes = ",".join(str(problem[name]) for name in CONVOLUTION)
    header = "Layer,Height,Width,Filter height,Filter width,Channels,Filters,Strides"
    return f"{header},\nlayer,{sizes},\n"


def cycles(folder: Path, problem: dict) -> int:
    """The cycles of one simulation, without traces on disk."""
    from scalesim.scale_sim import scalesim

    simulation = scalesim(
        save_disk_space=True,
        verbose=False,
        config=str(folder / "scale.cfg"),
        topology=str(folder / "layer.csv"),
        layout=str(folder / "layout.csv"),
        input_type_gemm=problem["kind"] == "matmul",
    )
    simulation.run_scale(top_path=str(folder))
    return int(simulation.runner.single_layer_sim_object_list[0].total_cycles)


def main() -> None:
    problem = json.loads(sys.argv[1])
    import scalesim.scale_sim  # noqa: F401  imports are not counted

    spent = []
    with tempfile.TemporaryDirectory() as name, open(os.devnull, "w") as nothing:
        folder = Path(name)
        (folder / "scale.cfg").write_text(CONFIGURATION)
        (folder / "layer.csv").write_text(table(problem))
        (folder / "layout.csv").write_text(f"{'Layer,' * 21}\nlayer,{'1,' * 20}\n")
        for _ in range(problem["runs"]):
            start = time.process_time()
            with contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
                found = cycles(folder, problem)
            spent.append(time.process_time() - start)
    print(json.dumps({"seconds": spent, "found": {"cycles": found}}))


if __name__ == "__main__":
    main()
