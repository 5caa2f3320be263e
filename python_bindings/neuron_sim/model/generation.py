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
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from neuron_sim.model import DEFAULT_CONTEXT, DEFAULT_INPUT, capacity
from neuron_sim.model import layers as layer_shares
from neuron_sim.model.estimate import DTYPES, device_facts, peak_of
from neuron_sim.settings import device_name
from neuron_sim.timeline.peaks import hbm_share
from neuron_sim.timeline.spans import Span, spans_of

if TYPE_CHECKING:
    from neuron_sim.model.causal_model import CausalLanguageModel, CausalProgram

MEASURED_LAYERS = 3
"""Layers of a kind that are timed for the time of one."""


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
    copies_keys: bool = False
    """Rank.copies_keys."""

    @property
    def cores(self) -> int:
        """Physical cores of the group."""
        return self.ranks * self.logical_core

    def check(self, longest: int | None = None) -> None:
        """ValueError for sizes below one, a prompt that the context does not hold, and a context of
        more tokens than `longest` (CausalLanguageModel.longest)."""
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
    left_out: Sequence[str] | None = None
    """CompiledGraph.left_out of one graph."""

    @staticmethod
    def combined(weighted: Sequence[tuple[float, _Sums]]) -> _Sums:
        """The sum of runs, each so many times."""

        def total(figure: Callable[[_Sums], float]) -> float:
            return sum(times * figure(sums) for times, sums in weighted)

        engines = dict.fromkeys(engine for _, sums in weighted for engine in sums.busy_us)
        return _Sums(
            total(lambda sums: sums.body_us),
            total(lambda sums: sums.overhead_us),
            total(lambda sums: sums.launches),
            total(lambda sums: sums.moved),
            {
                engine: sum(times * sums.busy_us.get(engine, 0) for times, sums in weighted)
                for engine in engines
            },
            layer_shares.combined([(times, sums.layers) for times, sums in weighted]),
        )


def generate(
    model: CausalLanguageModel, request: GenerationRequest, spans: list[Span] | None = None
) -> Generation:
    """Times both phases on device 0; `spans` gets the operators of one token. ValueError as
    GenerationRequest.check(), capacity.check_logical_core() and CausalLanguageModel.program();
    torch.OutOfMemoryError as capacity.check()."""
    request.check(model.longest)
    capacity.check_logical_core(request.logical_core)
    with _default(request.dtype), torch.neuron_sim.timing_only(), _group(request.cores):
        hbm = _hbm_bytes(model, request)
        capacity.check(hbm, request.cores)
        prefill = _phase(model, request, request.input)
        decode = _phase(model, request, 1, spans)
    return Generation(prefill, decode, hbm, hbm / capacity.of_core(request.cores))


@contextlib.contextmanager
def _default(dtype: str) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(DTYPES[dtype])
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _group(ranks: int) -> Any:
    return contextlib.nullcontext() if ranks == 1 else torch.neuron_sim.one_rank_of(ranks)


def _program(
    model: CausalLanguageModel,
    request: GenerationRequest,
    device: str,
    layers: Sequence[int] | None = None,
) -> CausalProgram:
    """The program of all layers, or of these (ascending)."""
    sizes = request.cores, request.batch, request.context
    with torch.device(device):
        return model.program(*sizes, layers, request.weight_dtype, request.copies_keys)


def _hbm_bytes(model: CausalLanguageModel, request: GenerationRequest) -> int:
    """Bytes of the whole model, which is built to count them."""
    gc.collect()
    before = torch.neuron_sim.memory_allocated()
    program = _program(model, request, device_name())
    taken = torch.neuron_sim.memory_allocated() - before
    del program
    gc.collect()
    return taken


def _phase(
    model: CausalLanguageModel,
    request: GenerationRequest,
    tokens: int,
    spans: list[Span] | None = None,
) -> Phase:
    sums = _whole(model, request, tokens, spans)
    latency_us = sums.body_us + sums.overhead_us
    facts = device_facts()
    operations = _operations(model, request, tokens)
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
    model: CausalLanguageModel,
    request: GenerationRequest,
    tokens: int,
    spans: list[Span] | None = None,
) -> _Sums:
    """Sums over all layers: those of one layer of each kind, and what each further one adds;
    `spans` gets the operators of all layers, from the last program of several."""
    kinds: dict[Hashable, list[int]] = {}
    for index, kind in enumerate(model.kinds):
        kinds.setdefault(kind, []).append(index)
    if len(model.kinds) <= MEASURED_LAYERS:
        with contextlib.suppress(torch.OutOfMemoryError):
            return _sums(model, request, tokens, range(len(model.kinds)), spans)
    firsts = [indices[0] for indices in kinds.values()]
    weighted = []
    left_out = None  # graphs that differ by whole layers must not differ in the orders of kernels
    for indices in kinds.values():
        if len(indices) > 1:
            more = indices[1:MEASURED_LAYERS]
            added, sums = _with_more(model, request, tokens, firsts, more, spans, left_out)
            left_out = sums.left_out
            weighted.append(((len(indices) - 1) / added, sums))
    one = _sums(model, request, tokens, firsts, None if weighted else spans, left_out)
    return _Sums.combined([(1 - sum(times for times, _ in weighted), one), *weighted])


def _with_more(
    model: CausalLanguageModel,
    request: GenerationRequest,
    tokens: int,
    firsts: list[int],
    more: list[int],
    spans: list[Span] | None,
    left_out: Sequence[str] | None,
) -> tuple[int, _Sums]:
    """The number of layers added to the first ones, and the sums with them. A capture keeps every
    value of its layers in HBM, which a chip does not: one is added where more do not fit."""
    with contextlib.suppress(torch.OutOfMemoryError):
        return len(more), _sums(model, request, tokens, firsts + more, spans, left_out)
    if len(more) == 1:
        raise torch.OutOfMemoryError("the programs of two layers do not fit the HBM of a core.")
    return 1, _sums(model, request, tokens, firsts + more[:1], spans, left_out)


def _sums(
    model: CausalLanguageModel,
    request: GenerationRequest,
    tokens: int,
    layers: Sequence[int],
    spans: list[Span] | None = None,
    left_out: Sequence[str] | None = None,
) -> _Sums:
    """Sums of the program of these layers; `left_out`: Options.left_out."""
    torch._dynamo.reset()
    gc.collect()
    known = len(torch.neuron_sim.compiled_graphs())
    program = _program(model, request, device_name(), sorted(layers))
    options = {"left_out": left_out}
    step: Any = torch.compile(
        program, backend=device_name(), dynamic=False, fullgraph=True, options=options
    )
    # No default device: Dynamo would trace its mode at every operator, which takes minutes.
    words, position = (
        torch.empty(sizes, dtype=torch.int64, device=device_name())
        for sizes in ((request.batch, tokens), (1,))
    )
    with torch.no_grad(), torch.neuron_sim.strict():
        step(words, position)  # compiles
        with torch.neuron_sim.record_launches() as launches:
            step(words, position)
    if spans is not None:
        spans[:] = layer_shares.spans_of_all(spans_of(launches), model, sorted(layers))
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
        layers=_layers(launches, known, model) if request.by_layer else {},
        left_out=torch.neuron_sim.compiled_graphs()[-1].left_out,
    )


def _layers(launches: Any, known: int, model: CausalLanguageModel) -> layer_shares.Shares:
    """All layers of the decoder under one label, however many of them were timed; `known`: graphs
    of the process before them."""
    shares = layer_shares.shares_of(launches, torch.neuron_sim.compiled_graphs()[known:])
    count = len(model.kinds)
    label = f"{model.layers_path}.{f'[0-{count - 1}]' if count > 1 else '0'}"
    pattern = re.compile(rf"^{re.escape(model.layers_path)}\.\d+")
    return layer_shares.grouped(shares, lambda path: pattern.sub(label, path))


def _operations(model: CausalLanguageModel, request: GenerationRequest, tokens: int) -> float:
    """Operations of one rank's products; masked scores, half of a prompt's, are not counted."""
    program = _program(model, request, "meta")
    seen = request.context if tokens == 1 else tokens / 2
    return request.batch * program.operations(tokens, seen)
