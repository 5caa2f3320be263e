"""Sweeps: a kernel or a model timed at every point of a grid of arguments and architecture facts.

    from neuron_sim.sweep import Study, run_sweep

    study = Study(
        "kernels.py:matmul",
        {"tile": (128, 256, 512), "arch.hbm.bandwidth": ("1x", "2x")},
        inputs={"a": "bfloat16[2048,2048]", "b": "bfloat16[2048,2048]"},
    )
    rows = run_sweep(study, results="sweep.jsonl")

`study.py` says what is timed and where, `point.py` times one point, `results.py` keeps what was
found, `run.py` runs the points on any executor; `pareto.py`, `plot.py`, `page.py` and `command.py`
show them.
"""

from neuron_sim.sweep.pareto import pareto_front
from neuron_sim.sweep.run import SweepRows, run_sweep
from neuron_sim.sweep.study import Study

__all__ = ["Study", "SweepRows", "pareto_front", "run_sweep"]
