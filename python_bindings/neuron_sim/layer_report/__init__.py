"""`neuron_sim.report()` and `neuron-sim report`: time, traffic and memory of a model's modules.

A run on the device is measured (measurement.py), what it took is given to modules (uses.py), these
become a tree (tree.py), and a report shows that (layer_report.py, page.py). Imports no torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from neuron_sim.terminal.extras import explained

if TYPE_CHECKING:
    import torch

    from neuron_sim.layer_report.layer_report import LayerReport


def report(
    model: torch.nn.Module,
    inputs: Any,
    *,
    backward: bool | Callable[[Any], torch.Tensor] = False,
    depth: int | None = None,
    group: bool = False,
    dtype: torch.dtype | None = None,
) -> LayerReport:
    """Where the time of one call of a model on the device goes, module by module.

        report = neuron_sim.report(model, (x,))
        print(report)
        open("report.html", "w").write(report.to_html())

    model: on one device, as it is or compiled (`torch.compile(model, backend="neuron_sim")`).
    inputs: a tensor, or a tuple or list of arguments, or a dict of keyword arguments; tensors on
    the same device. backward: also the backward pass, of the output's `loss` where it has one, else
    of all its tensors with a gradient of ones; or a function that makes the loss of the output.
    depth: levels of modules below the model that tables show; None: all. group: modules of one
    parent that are alike are one row. dtype: that of the products, to whose peak MFU relates; None:
    that of autocast where it is on, else of most parameters.

    The model runs in its mode (train or eval) and again where a run compiles it. Buffers and
    gradients are afterwards as before; the state of random generators is not.

    TypeError for a model or inputs of another type; ValueError for a model or inputs that are not
    on one device of this backend, a depth below 1, a dtype without products, and an output without
    gradients to go backward from; RuntimeError of a run with more kernels than a recording keeps
    (Launch.write_timeline()); ModuleNotFoundError without torch. A call that launches nothing has
    zeros.
    """
    with explained():
        from neuron_sim.layer_report.measured_report import measured_report  # imports torch

    return measured_report(model, inputs, backward=backward, depth=depth, group=group, dtype=dtype)
