"""The simulated time of a workload, and which share of the chip it uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from neuron_sim import _core
from neuron_sim.model import host_copies, layers
from neuron_sim.model.workload import Workload
from neuron_sim.settings import device_name
from neuron_sim.timeline.peaks import hbm_share, peak_operations
from neuron_sim.timeline.spans import Span, spans_of

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
"""Dtypes of weights and images by their names."""


@dataclass(frozen=True)
class Estimate:
    """One run of a model on one core, after the first; times are simulated milliseconds."""

    body_ms: float
    """The programs, from first instruction to last completion."""
    latency_ms: float
    """With the overhead of each launch."""
    launches: int
    moved_mb: float
    """Megabytes through the DMA engines."""
    busy: dict[str, float]
    """Busy share of the body (0 to 1) of each engine, and of "DMA"."""
    utilisation: float | None
    """Floating-point operations of products per second, relative to the Tensor engine's peak in
    the dtype of the products (model FLOPs utilisation). None for a model whose operations depend
    on values: they cannot be counted without computing them."""
    hbm_share: float
    """Bytes moved per second, relative to the bandwidth of HBM."""
    copies_ms: float = 0.0
    """The copies of the inputs to the device and of the results to the host, in no other figure."""
    layers: list[dict[str, Any]] | None = None
    """layers.rows() of the run, where asked for."""

    @property
    def bound(self) -> str:
        """The busiest engine or "DMA"; "latency" when none is busy half the time."""
        busiest = max(self.busy, key=self.busy.__getitem__)
        return busiest if self.busy[busiest] >= 0.5 else "latency"


@dataclass(frozen=True)
class Setting:
    """How a model runs."""

    dtype: str = "bfloat16"
    """The dtype of weights and images: a name of DTYPES."""
    compiled: bool = True
    """Through torch.compile; else operator by operator."""
    auto_cast: str = "none"
    """"matmult": products of float32 tensors multiply in bfloat16, as with the vendor's option."""

    def __post_init__(self) -> None:
        """ValueError for `auto_cast` without `compiled`: it is an option of the compiler."""
        if self.auto_cast != "none" and not self.compiled:
            raise ValueError(
                "--auto-cast is an option of torch.compile, without effect with --eager."
            )

    @property
    def product_dtype(self) -> torch.dtype:
        """The dtype in which products multiply."""
        if self.auto_cast != "none" and self.dtype == "float32":
            return torch.bfloat16
        return DTYPES[self.dtype]


def estimate(
    workload: Workload, setting: Setting, by_layer: bool = False, spans: list[Span] | None = None
) -> Estimate:
    """Runs the workload twice on device 0 and times the second run, `by_layer` also its modules;
    `spans` gets its operators.

    Errors are those of the operators and of torch.compile; an operator without a kernel on the
    device is a NotImplementedError, as the host's time is not simulated; a model that runs nothing
    there is a ValueError.
    """
    operations = _product_operations(workload)
    module, call, inputs = placed(workload, setting)
    known = len(torch.neuron_sim.compiled_graphs())
    with torch.no_grad(), torch.neuron_sim.strict():
        call(*inputs)  # compiles
        with torch.neuron_sim.record_launches() as launches:
            results = call(*inputs)
    graphs = torch.neuron_sim.compiled_graphs()[known:]
    if spans is not None:
        spans += spans_of(launches)
    found = replace(
        _of_launches(launches, graphs, operations, setting.product_dtype),
        copies_ms=host_copies.milliseconds(inputs, results, device_facts()),
    )
    if not by_layer:
        return found
    shares = layers.shares_of(launches, graphs)
    peak = peak_of(device_facts(), setting.product_dtype)
    rows = layers.rows(layers.grouped(shares, layers.labels_of(module)), peak)
    return replace(found, layers=rows)


def placed(workload: Workload, setting: Setting) -> tuple[nn.Module, Any, tuple[Tensor, ...]]:
    """The module of a workload on device 0, what calls it as the setting says, and the inputs
    there. ValueError as estimate()."""
    if setting.auto_cast != "none" and not setting.compiled:
        raise ValueError("--auto-cast is an option of torch.compile, without effect with --eager.")
    kind = DTYPES[setting.dtype]
    module = workload.module.to(kind).to(device_name())
    inputs = tuple(
        tensor.to(kind if tensor.is_floating_point() else tensor.dtype).to(device_name())
        for tensor in workload.inputs
    )
    if not setting.compiled:
        return module, module, inputs
    options = {"auto_cast": setting.auto_cast, "auto_cast_type": "bf16"}
    return module, torch.compile(module, backend=device_name(), options=options), inputs


def spared_overheads(launches: Sequence[Any], graphs: Sequence[Any]) -> list[float]:
    """Microseconds of the launches that a chip does not make, one by one: the programs of a graph
    (CompiledGraph), of which kernels of NKI are separate ones here, are one program there, unless
    the host computes something in between."""
    follows = [
        place > 0 and not graph.host_operators
        for graph in graphs
        for place in range(graph.programs)
    ]
    if len(follows) != len(launches):  # something else ran as well
        return []
    return [
        launch.latency_us - launch.body_us
        for launch, is_spared in zip(launches, follows, strict=True)
        if is_spared
    ]


def _of_launches(
    launches: Any, graphs: Sequence[Any], operations: int | None, kind: torch.dtype
) -> Estimate:
    body_us = sum(launch.body_us for launch in launches)
    if body_us == 0:
        raise ValueError("the model runs nothing on the device: there is no time to tell.")
    moved = sum(launch.dma_bytes for launch in launches)
    busy: dict[str, float] = {}
    for launch in launches:
        for engine, share in launch.utilisation.items():
            busy[engine] = busy.get(engine, 0.0) + share * launch.body_us / body_us
    spared = spared_overheads(launches, graphs)
    latency_us = sum(launch.latency_us for launch in launches) - sum(spared)
    facts = device_facts()
    return Estimate(
        body_ms=body_us / 1e3,
        latency_ms=latency_us / 1e3,
        launches=len(launches) - len(spared),
        moved_mb=moved / 1e6,
        busy=busy,
        utilisation=None
        if operations is None
        else operations / (latency_us * 1e-6) / peak_of(facts, kind),
        hbm_share=hbm_share(facts, moved, latency_us),
    )


def device_facts() -> dict[str, Any]:
    """Every value of the device's architecture, which may be a file."""
    name = torch.neuron_sim.get_device_properties().architecture
    return _core.architecture_facts(_core.environment_architecture() or name)


def peak_of(facts: dict[str, Any], kind: torch.dtype) -> float:
    """Floating-point operations per second of products in that dtype; fp32 takes several passes."""
    passes = facts["tensor.passes_fp32"]["value"] if kind == torch.float32 else 1
    return peak_operations(facts) / passes


def _product_operations(workload: Workload) -> int | None:
    """Operations of the products of one run, counted on torch's meta device; None where values
    decide."""
    state = {
        name: tensor.to("meta")
        for tensors in (workload.module.named_parameters(), workload.module.named_buffers())
        for name, tensor in tensors
    }
    inputs = tuple(tensor.to("meta") for tensor in workload.inputs)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        try:
            torch.func.functional_call(workload.module, state, inputs)
        except RuntimeError:  # a meta tensor has no values; errors of the model recur in its run
            return None
    return counter.get_total_flops()
