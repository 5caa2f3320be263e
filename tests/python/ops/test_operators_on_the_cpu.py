"""Operators without a kernel run on the CPU, visibly, with its values and gradients."""

import pytest
import torch
from against_cpu import DEVICE
from torch.nn import functional

VOLUME, BAGS = torch.randn(2, 3, 4, 6, 5), torch.tensor([[3, 1, 1], [7, 0, 3]])
LABELS = torch.tensor([[1, 2, 3], [3, 1, 0]])
CALLS = {
    "avg_pool3d": lambda x: functional.avg_pool3d(x, 2),
    "max_pool3d_with_indices": lambda x: functional.max_pool3d(x, 2),
    "adaptive_max_pool3d": lambda x: functional.adaptive_max_pool3d(x, (3, 2, 4)),
    "_adaptive_avg_pool3d": lambda x: functional.adaptive_avg_pool3d(x, (2, 3, 2)),
    "upsample_nearest3d": lambda x: functional.interpolate(x, (8, 3, 6), mode="nearest"),
    "_upsample_nearest_exact3d": lambda x: functional.interpolate(
        x, (8, 3, 6), mode="nearest-exact"
    ),
    "upsample_trilinear3d": lambda x: functional.interpolate(x, (8, 3, 6), mode="trilinear"),
    "grid_sampler_2d": lambda x: functional.grid_sample(
        x[0], x[0, :, :, :2, :2].transpose(1, 2).tanh(), align_corners=False
    ),
    "grid_sampler_3d": lambda x: functional.grid_sample(
        x, x[:, :, :2, :2, :3].tanh(), align_corners=True
    ),
    "_embedding_bag": lambda x: functional.embedding_bag(
        BAGS.to(x.device), x.reshape(-1, 5)[:8], mode="mean"
    ),
    "_ctc_loss": lambda x: functional.ctc_loss(
        x.reshape(-1, 2, 5)[:9].log_softmax(2), LABELS.to(x.device), [9, 8], [3, 2]
    ),
    "multi_margin_loss": lambda x: functional.multi_margin_loss(
        x[0, 0, 0], torch.tensor([0, 4, 1, 2, 2, 3]).to(x.device)
    ),
    "special_i0e": torch.special.i0e,
    "_cdist_forward": lambda x: torch.cdist(x[0, 0], x[1, 1]),
    "_cdist_backward": lambda x: torch.cdist(x[0, 0], x[1, 1]),
    "linalg_cross": lambda x: torch.linalg.cross(x, 1 - x, dim=1),
    "trace": lambda x: x[0, 0, 0].trace(),
    "max_unpool2d": lambda x: functional.max_unpool2d(
        *functional.max_pool2d(x[0, ..., :4], 2, return_indices=True), 2
    ),
    "searchsorted": lambda x: x[
        0, 0, 0, torch.searchsorted(torch.arange(5.0).to(x), x[0, 0, 1, 1]).clamp(max=5)
    ],
}


@pytest.mark.parametrize("name", CALLS)
def test_the_cpu_computes_values_and_gradients_and_is_named(name):
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    torch.neuron_sim.reset_fallback_counts()
    theirs = VOLUME.clone().requires_grad_()
    ours = VOLUME.to(DEVICE).requires_grad_()
    expected, found = CALLS[name](theirs), CALLS[name](ours)
    torch.testing.assert_close(found.cpu(), expected)
    expected.sum().backward()
    found.sum().backward()
    torch.testing.assert_close(ours.grad.cpu(), theirs.grad)
    assert any(name in each.op for each in torch.neuron_sim.fallbacks())


@pytest.mark.parametrize("name", ["interpolation_mode", "padding_mode"])
def test_a_mode_for_which_the_cpu_writes_no_samples_is_refused(name):
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    modes = {"interpolation_mode": 0, "padding_mode": 0, "align_corners": False}
    tensors = VOLUME[0].to(DEVICE), VOLUME[0, :, :, :2, :2].transpose(1, 2).tanh().to(DEVICE)
    for wrong in (-1, 3):
        with pytest.raises(RuntimeError, match=f"{name} is {wrong}, but the modes are 0, 1 and 2"):
            torch.ops.aten.grid_sampler_2d(*tensors, **modes | {name: wrong})
    found = torch.ops.aten.grid_sampler_2d(*tensors, **modes | {name: 2})
    expected = torch.ops.aten.grid_sampler_2d(*(t.cpu() for t in tensors), **modes | {name: 2})
    torch.testing.assert_close(found.cpu(), expected)
