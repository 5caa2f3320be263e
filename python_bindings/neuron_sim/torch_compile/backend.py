"""torch.compile(backend="neuron_sim"): a whole graph becomes one device program.

The graph that TorchDynamo and AOTAutograd hand over runs once with its kernels captured instead of
launched; pointwise ones are fused, all are emitted into one program and go through the
compiler's passes (docs/compile.md).
"""

from __future__ import annotations

import hashlib
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.logging_utils import get_aot_graph_name
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.fx import GraphModule

from neuron_sim import _C
from neuron_sim.settings import device_name, semantics
from neuron_sim.torch_compile import artifacts, metrics
from neuron_sim.torch_compile.compiled_graphs import CompiledGraph, note, note_run
from neuron_sim.torch_compile.graph import (
    ExpectedLayouts,
    drop_pooling_indices,
    held_tensors,
    join_activations,
    kept_whole,
    objection,
    parameters_and_buffers,
    remove_clones,
)
from neuron_sim.torch_compile.graph_source import GraphSource
from neuron_sim.torch_compile.host_inputs import WithHostInputs, has_host_inputs, move_to_device
from neuron_sim.torch_compile.in_place import write_in_place
from neuron_sim.torch_compile.options import Options
from neuron_sim.torch_compile.patterns import recognise_gelu, recognise_rms_norm
from neuron_sim.torch_compile.rotations import recognise_rotations

# Captures kept per graph: one for each way in which its inputs share memory, and for each set of
# values of its symbolic sizes.
KEPT_CAPTURES = 64


class _Graph:
    """A graph of device operators with its captures. Called with a list of inputs, which it
    empties (the convention of AOTAutograd)."""

    def __init__(
        self,
        kind: str,
        module: GraphModule,
        constants: Sequence[int],
        options: Options,
        passes_time: float,
    ) -> None:
        self._boxed_call = True  # an attribute of the instance: wrappers of functions copy these
        self._kind = kind
        self._module = module
        self._constants = frozenset(constants)
        self._options = options
        self._passes_us = round(passes_time * 1e6)
        self._number = get_aot_graph_name().rpartition("__")[2]
        self._held = held_tensors(module, device_name())
        self._captures: OrderedDict[Any, _Capture] = OrderedDict()
        self._lock = threading.Lock()  # for the kept captures; not held during a capture

    def __call__(self, arguments: list[Any]) -> Sequence[Any]:
        inputs = list(arguments)
        arguments.clear()
        key = (_C.random_source(), _C.timing_only(), *_key((*inputs, *self._held)))
        with self._lock:
            known = self._captures.get(key)
            if known is not None:
                self._captures.move_to_end(key)
        if known is not None:
            return known.run(inputs, self._module)
        capture, outputs = self._capture(inputs)
        with self._lock:
            self._captures[key] = capture
            if len(self._captures) > KEPT_CAPTURES:
                self._captures.popitem(last=False)
        return outputs

    def _capture(self, inputs: list[Any]) -> tuple[_Capture, Sequence[Any]]:
        values = (*inputs, *self._held)
        places = [place for place, value in enumerate(values) if isinstance(value, torch.Tensor)]
        tensors = [values[place] for place in places]
        device = next(
            (tensor.device for tensor in tensors if tensor.device.type == device_name()), None
        )
        if device is None:
            return self._leave(""), self._module(*inputs)
        reason = _objection(inputs) or objection(self._module, device_name())
        if reason:
            return self._leave(reason), self._module(*inputs)
        outputs: list[Any] = []
        times = [time.perf_counter()]

        def run() -> list[torch.Tensor]:
            outputs.extend(ExpectedLayouts(self._module).run(*inputs))
            times.append(time.perf_counter())
            return [value for value in outputs if isinstance(value, torch.Tensor)]

        constants = [i for i, place in enumerate(places) if place in self._constants]
        options = self._options
        request = _C.CaptureRequest(
            device=device,
            inputs=tensors,
            constants=constants,
            fuse=options.fuse,
            exact_transposes=options.exact_transposes,
            passes=options.passes,
            left_out=None if options.left_out is None else set(options.left_out),
            product_dtype=options.product_dtype,
        )
        graph, reason, _ = _C.capture_graph(run, request)
        if graph is None:
            return self._leave(reason), self._module(*inputs)
        account = self._note(graph, tensors, [*times, time.perf_counter()])
        return _Capture(graph, account, self._held, outputs), outputs

    def _note(
        self, graph: Any, tensors: Sequence[torch.Tensor], times: list[float]
    ) -> CompiledGraph:
        """Adds the graph to the accounts; `times`: start, after its kernels, after its programs."""
        facts = graph.facts()
        sources = [GraphSource.parse(source).module for source in facts["program_sources"]]
        account = CompiledGraph(self._kind, **{**facts, "program_sources": sources})
        note(account)
        name = self._options.model_name or metrics.get_model_name()
        code, sizes = self._module.code, [(each.shape, each.dtype) for each in tensors]
        what = (code, sizes, self._options, _C.device_properties(tensors[0].device.index))
        key = hashlib.sha256(repr(what).encode()).hexdigest()
        lower, compile_time = (round((b - a) * 1e6) for a, b in pairwise(times))
        compilation = metrics.CompilationMetrics(
            graph_id=key,
            graph_name=f"{name}_{self._number}",
            model_name=name,
            has_collectives="_c10d_functional" in code,
            graph_node_count=len(self._module.graph.nodes),
            timestamp=str(time.time_ns()),
            torch_neuronx_fx_passes_us=self._passes_us,
            torch_neuronx_lower_us=lower,
            torch_neuronx_compile_us=compile_time,
        )
        metrics.record(compilation)
        artifacts.note(key, facts)
        artifacts.write_files(f"{name}_{compilation.timestamp}", self._module, account)
        return account

    def _leave(self, reason: str) -> _Capture:
        if reason and not self._options.falls_back:
            raise RuntimeError(
                f"graph of kind {self._kind} cannot be compiled: {reason}; with the option "
                "fallback_execution it runs operator by operator."
            )
        if reason:
            note(CompiledGraph(self._kind, not_compiled=reason))
            warnings.warn(
                f"graph of kind {self._kind} runs operator by operator: {reason}", stacklevel=2
            )
        return _Capture(None, CompiledGraph(self._kind), [], [])


class _Capture:
    """One capture, and its outputs that are not tensors."""

    def __init__(
        self,
        graph: Any,
        account: CompiledGraph,
        held: Sequence[torch.Tensor],
        outputs: Sequence[Any],
    ) -> None:
        self._graph = graph
        self._account = account
        self._held = held
        self._outputs = [None if isinstance(value, torch.Tensor) else (value,) for value in outputs]

    def run(self, inputs: list[Any], module: GraphModule) -> Sequence[Any]:
        if self._graph is None:
            return module(*inputs)
        note_run(self._account)
        tensors = [value for value in (*inputs, *self._held) if isinstance(value, torch.Tensor)]
        found = iter(self._graph.run(tensors))
        return [next(found) if value is None else value[0] for value in self._outputs]


def _objection(inputs: Sequence[Any]) -> str:
    """Why a graph with these inputs cannot be captured; empty when it can."""
    devices = {value.device for value in inputs if isinstance(value, torch.Tensor)}
    if len(devices) > 1:
        return f"its inputs are on {', '.join(sorted(map(str, devices)))}"
    return ""


def _key(inputs: Sequence[Any]) -> Any:
    """Equal for inputs that one capture serves: sizes, strides, dtypes, and which of them share
    memory."""
    firsts: dict[int, tuple[int, int]] = {}
    key: list[Any] = []
    for place, value in enumerate(inputs):
        if not isinstance(value, torch.Tensor):
            # 0.0 and -0.0 are equal, and so are 1 and True; nan is not.
            key.append(value.hex() if isinstance(value, float) else (type(value), value))
            continue
        offset = value.storage_offset() * value.element_size()
        first, start = firsts.setdefault(value.untyped_storage()._cdata, (place, offset))
        key.append((tuple(value.shape), value.stride(), value.dtype, first, offset - start))
    return tuple(key)


def _compiler(kind: str, options: Options) -> Callable[..., Any]:
    def compile_graph(module: GraphModule, _inputs: Sequence[Any]) -> Any:
        start = time.perf_counter()
        remove_clones(module)
        drop_pooling_indices(module)
        write_in_place(module)
        if options.fuse:
            recognise_gelu(module)
            recognise_rms_norm(module)
            recognise_rotations(module)
            join_activations(module)
        copies_inputs = has_host_inputs(module)
        # A training step changes the parameters: arranging them once would not pay.
        keeps_constants = kind == "inference" and not copies_inputs
        constants = parameters_and_buffers() if keeps_constants else []
        if copies_inputs:
            move_to_device(module)
        graph = _Graph(kind, module, constants, options, time.perf_counter() - start)
        if not copies_inputs:
            return graph
        return WithHostInputs(graph, module, kind == "backward", options)

    return compile_graph


def compile_backend(
    module: GraphModule,
    inputs: Sequence[Any],
    *,
    options: dict[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """The backend, with the options of Options. ValueError for other options. A mode, which only
    Inductor has, is without effect and a warning says so, as the vendor's backend does.
    RuntimeError for dynamic=True where the device follows the vendor, whose shapes are static.
    """
    if mode not in (None, "default"):
        warnings.warn(
            f"torch.compile(backend='{device_name()}') has no mode '{mode}': the graph is compiled "
            "in the default mode.",
            stacklevel=2,
        )
    if semantics() == "vendor" and not torch._dynamo.config.assume_static_by_default:
        raise RuntimeError(
            f"torch.compile(backend='{device_name()}', dynamic=True): dynamic shapes are not "
            "supported; without dynamic=True, or with NEURON_SIM_SEMANTICS=torch, every shape is "
            "compiled when it comes."
        )
    chosen = Options.of(options or {})
    backend = aot_autograd(
        fw_compiler=_compiler("forward", chosen),
        bw_compiler=_compiler("backward", chosen),
        inference_compiler=_compiler("inference", chosen),
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )
    with kept_whole():
        return backend(module, inputs)
