"""Kinds of tensors that the device lacks, and operators of other devices: one sentence each."""

import pytest
import torch
from against_cpu import DEVICE

ABSENT = {
    "quantized copy": (
        lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8).to(DEVICE),
        "'aten::empty_quantized' was called for a quantized tensor",
    ),
    "quantized result": (
        lambda: torch.quantize_per_tensor(torch.ones(3, device=DEVICE), 0.1, 0, torch.qint8),
        "was called for a quantized tensor, which the device does not have; quantize on the CPU",
    ),
    "quantized empty": (
        lambda: torch.empty(2, dtype=torch.qint8, device=DEVICE), "a quantized tensor",
    ),
    "mkldnn": (lambda: torch.ones(3, device=DEVICE).to_mkldnn(), "not ones of layout Mkldnn"),
    "an operator of CUDA": (
        lambda: torch.ops.aten.cudnn_grid_sampler(*[torch.ones(1, 1, 2, 2, device=DEVICE)] * 2),
        "'aten::cudnn_grid_sampler' does not run on the device, because it has no device kernel, "
        "and the CPU has no kernel of it either; call operators that do not belong to another",
    ),
    "nested": (
        lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]).to(DEVICE).sin().cos_(),
        "for which the device has no kernel; nest with layout=torch.jagged",
    ),
}  # fmt: skip


@pytest.mark.parametrize("make,sentence", ABSENT.values(), ids=ABSENT)
def test_what_the_device_lacks_is_refused_in_a_sentence(make, sentence):
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    with pytest.raises(NotImplementedError) as caught:
        make()
    text = str(caught.value)
    assert sentence in text and text.startswith("neuron_sim: ") and "Facebook" not in text
