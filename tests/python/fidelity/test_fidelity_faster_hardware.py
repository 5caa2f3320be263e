"""Faster hardware does not make kernels of the suite slower, as their stacks compile them.

tests/ops/test_faster_hardware.cpp does the same for the Builder's kernels, and names the mechanisms
by which it can happen.
"""

import pytest
from neuron_sim import _core
from neuron_sim.fidelity.choices import write_trial
from neuron_sim.fidelity.evaluate import PreparedCase
from neuron_sim.fidelity.measurement import load_measurements
from neuron_sim.fidelity.suite import find_case

FAMILIES = ("attention_small", "dma", "engine", "transpose", "vector_add")
"""Families whose kernels are timed in milliseconds."""

NOT_IMPROVED = ("tensor.gate_window", "tensor.load_advance")
"""Neither end of a window is faster; cycles that are saved are better when there are more."""

BEST = {
    "dma.compute": 1, "dma.transpose_hbm": 1, "dma.transpose_sbuf": 1, "dma.small_row": 1,
    "tensor.columns_init": 0, "tensor.fp32_pairs": 1, "tensor.fp32_transpose_pairs": 1,
    "tensor.gate_down": 0, "tensor.gate_up": 0.42, "tensor.minimum_columns": 1,
    "tensor.strided_load_factor": 1, "features.background_transpose": True,
    "features.clock_gating": False, "features.fast_mode_ports": False,
    "features.hidden_weight_load": True, "features.shared_psum_port": False,
    "features.shared_sbuf_port": False,
}  # fmt: skip
"""The best of what is neither a time nor a rate; strides cost nothing at a factor of 1."""

TOLERANCE = 0.02


def improved(key, fact):
    """A value twice as fast, or the best one; none for sizes and for what is the best."""
    best = 1 if key.endswith(".stride_factor") else BEST.get(key)
    if best is not None:
        return None if fact["value"] == best else best
    if fact["value"] == 0:
        return None
    if fact["unit"] in ("GHz", "bytes/ns"):
        return 2 * fact["value"]
    return fact["value"] / 2 if fact["unit"] in ("ns", "cycles") else None


@pytest.mark.parametrize("architecture", ["trn1", "trn2"])
def test_no_improved_figure_lengthens_a_compiled_kernel(architecture, tmp_path):
    prepared = {
        each.id: PreparedCase(find_case(each))
        for each in load_measurements()
        if each.architecture == architecture
        and each.family in FAMILIES
        and each.split == "calibration"
    }
    assert len(prepared) >= 10

    def bodies(values):
        path = str(write_trial(tmp_path, architecture, values))
        return {name: case.body_us(path) for name, case in prepared.items()}

    before = bodies({})
    longer = {}
    for key, fact in _core.architecture_facts(architecture).items():
        better = improved(key, fact)
        if better is None or key in NOT_IMPROVED or key == "clocks.tensor_cold":
            continue
        after = bodies({key: (better, fact["unit"])})
        losses = {name: after[name] / before[name] - 1 for name in before}
        longer |= {(key, name): loss for name, loss in losses.items() if loss > TOLERANCE}
    assert longer == {}
