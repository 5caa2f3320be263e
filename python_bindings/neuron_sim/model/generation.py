"""Generation of text by a tensor-parallel group, from the simulated time of one of its ranks.

All ranks are alike and start together, so one stands for all; its collectives are instructions of
its programs. Nothing has bytes (torch.neuron_sim.timing_only), so a model of any size takes little
host memory. A layer repeats: programs of one layer and of MEASURED_LAYERS are timed, and the
difference, in which loads of one layer overlap the one before, stands for each further layer.
"""

from __future__ import annotations

import contextlib
import gc
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from neuron_sim.model import DEFAULT_CONTEXT, DEFAULT_INPUT, capacity
from neuron_sim.model import layers as layer_shares
from neuron_sim.model.decoder import Decoder
from neuron_sim.model.decoder_shape import DecoderShape
from neuron_sim.model.estimate import DTYPES, device_facts, peak_of
from neuron_sim.settings import device_name
from neuron_sim.timeline.peaks import hbm_share
from neuron_sim.timeline.spans import Span, spans_of

MEASURED_LAYERS = 3


@dataclass(frozen=True)
class GenerationRequest:
    """What to generate, and with how many cores."""

    ranks: int = 1
    """Logical cores that share the model (tensor parallelism)."""
    batch: int = 1
    context: int = DEFAULT_CONTEXT
    """Tokens for which the caches have room; a decode step attends to all of them."""
    input: int = DEFAULT_INPUT
    """Tokens of a prompt."""
    dtype: str = "bfloat16"
    """The dtype of activations, caches and weights: a name of DTYPES."""
    weight_dtype: str | None = None
    """"int8": the layers' weights are bytes in HBM, cast on chip for every product and scaled by
    output channel after it; None: as `dtype`."""
    logical_core: int = 1
    """Physical cores of a logical one: the vendor's LNC. Each computes a part of the rank's share
    and exchanges what others need as ranks do."""
    by_layer: bool = False
    """Whether to time modules too."""

    @property
    def cores(self) -> int:
        """Physical cores of the group."""
        return self.ranks * self.logical_core

    def check(self, longest: int | None = None) -> None:
        """ValueError for sizes below one, a prompt that the context does not hold, and a context of
        more tokens than `longest` (DecoderShape.longest)."""
        for name in ("ranks", "logical_core", "batch", "context", "input"):
            if getattr(self, name) < 1:
                option = {"ranks": "tp", "logical_core": "lnc"}.get(name, name)
                raise ValueError(f"--{option} is {getattr(self, name)}; it must be at least 1.")
        if self.input > self.context:
            raise ValueError(
                f"--input is {self.input}; the context has room for {self.context} tokens."
            )
        if longest is not None and self.context > longest:
            raise ValueError(
                f"--context is {self.context}; the model has positions for {longest} tokens only."
            )


@dataclass(frozen=True)
class Phase:
    """One run of one rank: the prompt (prefill), or one token (decode)."""

    latency_ms: float
    """With the overhead of each launch; without the host's sampling."""
    body_ms: float
    launches: int
    moved_mb: float
    """Megabytes through the DMA engines."""
    busy: dict[str, float]
    """Busy share of the body (0 to 1) of each engine, and of "DMA"."""
    utilisation: float
    """Operations of this rank's products per second, relative to the Tensor engine's peak."""
    hbm_share: float
    """Bytes moved per second, relative to the bandwidth of HBM."""
    layers: list[dict[str, Any]] | None = None
    """layers.rows() of the run, where asked for."""

    @property
    def bound(self) -> str:
        """The busiest engine or "DMA"; "latency" when none is busy half the time, as while a rank
        waits for collectives."""
        busiest = max(self.busy, key=self.busy.__getitem__)
        return busiest if self.busy[busiest] >= 0.5 else "latency"


@dataclass(frozen=True)
class Generation:
    """Figures of a request; the times are those of the group."""

    prefill: Phase
    """All prompts of the batch: the time to first token."""
    decode: Phase
    """One token of each sequence: the time per output token."""
    hbm_bytes: int
    """Weights and caches of a physical core."""
    hbm_capacity_share: float
    """`hbm_bytes` as a share of what a core has when all cores of the chip have equal parts."""


@dataclass(frozen=True)
class _Sums:
    """Figures that grow linearly with the layers."""

    body_us: float
    overhead_us: float
    launches: float
    moved: float
    busy_us: dict[str, float]
    layers: layer_shares.Shares = field(default_factory=dict)
    """Empty where nobody asked for them."""

    def extended(self, other: _Sums, times: float) -> _Sums:
        """self + times * (other - self)."""

        def extend(a: float, b: float) -> float:
            return a + times * (b - a)

        engines = {**self.busy_us, **other.busy_us}
        return _Sums(
            extend(self.body_us, other.body_us),
            extend(self.overhead_us, other.overhead_us),
            extend(self.launches, other.launches),
            extend(self.moved, other.moved),
            {
                engine: extend(self.busy_us.get(engine, 0), other.busy_us.get(engine, 0))
                for engine in engines
            },
            layer_shares.extended(self.layers, other.layers, times),
        )


def generate(
    shape: DecoderShape, request: GenerationRequest, spans: list[Span] | None = None
) -> Generation:
    """Times both phases on device 0; `spans` gets the operators of one token. ValueError as
    GenerationRequest.check() and capacity.check_logical_core(); torch.OutOfMemoryError as
    capacity.check()."""
    request.check(shape.longest)
    capacity.check_logical_core(request.logical_core)
    with _default(request.dtype), torch.neuron_sim.timing_only(), _group(request.cores):
        hbm = _hbm_bytes(shape, request)
        capacity.check(hbm, request.cores)
        prefill = _phase(shape, request, request.input)
        decode = _phase(shape, request, 1, spans)
    return Generation(prefill, decode, hbm, hbm / capacity.of_core(request.cores))


@contextlib.contextmanager
def _default(dtype: str) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(DTYPES[dtype])
    try:
        with torch.device(device_name()):
            yield
    finally:
        torch.set_default_dtype(before)


def _group(ranks: int) -> Any:
    return contextlib.nullcontext() if ranks == 1 else torch.neuron_sim.one_rank_of(ranks)


def _decoder(shape: DecoderShape, request: GenerationRequest, layers: int | None = None) -> Decoder:
    return Decoder(
        shape, request.cores, request.batch, request.context, layers, request.weight_dtype
    )


def _hbm_bytes(shape: DecoderShape, request: GenerationRequest) -> int:
    """Bytes of the whole model, which is built to count them."""
    gc.collect()
    before = torch.neuron_sim.memory_allocated()
    model = _decoder(shape, request)
    taken = torch.neuron_sim.memory_allocated() - before
    del model
    gc.collect()
    return taken


def _phase(
    shape: DecoderShape, request: GenerationRequest, tokens: int, spans: list[Span] | None = None
) -> Phase:
    sums = _whole(shape, request, tokens, spans)
    latency_us = sums.body_us + sums.overhead_us
    facts = device_facts()
    operations = _operations(shape, request, tokens)
    peak = peak_of(facts, DTYPES[request.dtype])
    return Phase(
        latency_ms=latency_us / 1e3,
        body_ms=sums.body_us / 1e3,
        launches=round(sums.launches),
        moved_mb=sums.moved / 1e6,
        busy={engine: busy / sums.body_us for engine, busy in sums.busy_us.items()},
        utilisation=operations / (latency_us * 1e-6) / peak,
        hbm_share=hbm_share(facts, sums.moved, latency_us),
        layers=layer_shares.rows(sums.layers, peak) if request.by_layer else None,
    )


def _whole(
    shape: DecoderShape, request: GenerationRequest, tokens: int, spans: list[Span] | None = None
) -> _Sums:
    """Sums over all layers. A capture keeps every value of its layers in HBM, which a chip does
    not: two layers are measured where more do not fit."""
    layers = min(shape.layers, MEASURED_LAYERS)
    try:
        sums = _sums(shape, request, tokens, layers, spans)
    except torch.OutOfMemoryError:
        if layers < 3:
            raise
        sums = None
    if sums is None:  # outside of the handler, which keeps the frames and their tensors
        layers = 2
        gc.collect()
        sums = _sums(shape, request, tokens, layers, spans)
    if layers == shape.layers:
        return sums
    one = _sums(shape, request, tokens, 1)
    return one.extended(sums, (shape.layers - 1) / (layers - 1))


def _sums(
    shape: DecoderShape,
    request: GenerationRequest,
    tokens: int,
    layers: int,
    spans: list[Span] | None = None,
) -> _Sums:
    torch._dynamo.reset()
    known = len(torch.neuron_sim.compiled_graphs())
    model = _decoder(shape, request, layers).eval()
    step: Any = torch.compile(model, backend=device_name(), dynamic=False)
    words = torch.empty(request.batch, tokens, dtype=torch.int64)
    position = torch.empty(1, dtype=torch.int64)
    with torch.no_grad(), torch.neuron_sim.strict():
        step(words, position)  # compiles
        with torch.neuron_sim.record_launches() as launches:
            step(words, position)
    if spans is not None:
        spans += _repeated(spans_of(launches), layers - 1, shape.layers - layers)
    busy: dict[str, float] = {}
    for launch in launches:
        for engine, share in launch.utilisation.items():
            busy[engine] = busy.get(engine, 0.0) + share * launch.body_us
    body = sum(launch.body_us for launch in launches)
    return _Sums(
        body_us=body,
        overhead_us=sum(launch.latency_us for launch in launches) - body,
        launches=len(launches),
        moved=sum(launch.dma_bytes for launch in launches),
        busy_us=busy,
        layers=_layers(launches, known, shape.layers) if request.by_layer else {},
    )


def _repeated(spans: Sequence[Span], last: int, times: int) -> list[Span]:
    """The spans with those of the last timed layer once more for each further one."""
    path = f"layers.{last}"
    places = [i for i, span in enumerate(spans) if f"{span.module}.".startswith(f"{path}.")]
    if not places:
        return list(spans)
    end = places[-1] + 1
    further = [
        replace(spans[i], module=f"layers.{last + number}{spans[i].module[len(path) :]}")
        for number in range(1, times + 1)
        for i in places
    ]
    return [*spans[:end], *further, *spans[end:]]


def _layers(launches: Any, known: int, layers: int) -> layer_shares.Shares:
    """All layers of the decoder under one label, however many of them were timed; `known`: graphs
    of the process before them."""
    shares = layer_shares.shares_of(launches, torch.neuron_sim.compiled_graphs()[known:])
    label = f"layers.[0-{layers - 1}]" if layers > 1 else "layers.0"
    return layer_shares.grouped(shares, lambda path: re.sub(r"^layers\.\d+", label, path))


def _operations(shape: DecoderShape, request: GenerationRequest, tokens: int) -> float:
    """Operations of one rank's products; masked scores, half of a prompt's, are not counted."""
    with torch.device("meta"):
        model = _decoder(shape, request, layers=1)
    layer: Any = model.layers[0]
    weights = sum(
        module.weight.numel()
        for module in layer.modules()
        if isinstance(getattr(module, "weight", None), torch.Tensor) and module.weight.dim() == 2
    )
    rows = request.batch * tokens
    seen = request.context if tokens == 1 else tokens / 2
    attended = 2 * layer.attention.heads * shape.head_width * seen
    head = model.head.weight.numel() * request.batch
    return 2.0 * (shape.layers * rows * (weights + attended) + head)
