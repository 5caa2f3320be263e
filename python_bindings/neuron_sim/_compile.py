"""torch.compile(backend="neuron_sim"): a whole graph becomes one device program.

The graph that TorchDynamo and AOTAutograd hand over runs once with its kernels captured instead of
launched; pointwise ones are fused, all are emitted into one program and go through the
compiler's passes (docs/compile.md).
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.fx import GraphModule

from neuron_sim import _C  # type: ignore[attr-defined]
from neuron_sim._compile_graph import (
    ExpectedLayouts,
    held_tensors,
    kept_whole,
    objection,
    remove_clones,
)
from neuron_sim._compiled_graphs import CompiledGraph, note

BACKEND = "neuron_sim"
# Captures kept per graph: one for each way in which its inputs share memory, and for each set of
# values of its symbolic sizes.
KEPT_CAPTURES = 64


class _Graph:
    """A graph of device operators with its captures. Called with a list of inputs, which it
    empties (the convention of AOTAutograd)."""

    def __init__(self, kind: str, module: GraphModule, fuse: bool, passes: dict[str, int]) -> None:
        self._boxed_call = True  # an attribute of the instance: wrappers of functions copy these
        self._kind = kind
        self._module = module
        self._fuse = fuse
        self._passes = passes
        self._held = held_tensors(module, BACKEND)
        self._captures: OrderedDict[Any, _Capture] = OrderedDict()
        self._lock = threading.Lock()  # for the kept captures; not held during a capture

    def __call__(self, arguments: list[Any]) -> Sequence[Any]:
        inputs = list(arguments)
        arguments.clear()
        key = (_C.random_source(), *_key((*inputs, *self._held)))
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
        tensors = [value for value in (*inputs, *self._held) if isinstance(value, torch.Tensor)]
        device = next((tensor.device for tensor in tensors if tensor.device.type == BACKEND), None)
        if device is None:
            return self._leave(""), self._module(*inputs)
        reason = _objection(inputs) or objection(self._module, BACKEND)
        if reason:
            return self._leave(reason), self._module(*inputs)
        outputs: list[Any] = []

        def run() -> list[torch.Tensor]:
            outputs.extend(ExpectedLayouts(self._module).run(*inputs))
            return [value for value in outputs if isinstance(value, torch.Tensor)]

        graph, reason, _ = _C.capture_graph(run, device, tensors, self._fuse, self._passes)
        if graph is None:
            return self._leave(reason), self._module(*inputs)
        note(CompiledGraph(self._kind, **graph.facts()))
        return _Capture(graph, self._held, outputs), outputs

    def _leave(self, reason: str) -> _Capture:
        if reason:
            note(CompiledGraph(self._kind, not_compiled=reason))
            warnings.warn(
                f"graph of kind {self._kind} runs operator by operator: {reason}", stacklevel=2
            )
        return _Capture(None, [], [])


class _Capture:
    """One capture, and its outputs that are not tensors."""

    def __init__(self, graph: Any, held: Sequence[torch.Tensor], outputs: Sequence[Any]) -> None:
        self._graph = graph
        self._held = held
        self._outputs = [None if isinstance(value, torch.Tensor) else (value,) for value in outputs]

    def run(self, inputs: list[Any], module: GraphModule) -> Sequence[Any]:
        if self._graph is None:
            return module(*inputs)
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


def _compiler(kind: str, fuse: bool, passes: dict[str, int]) -> Callable[..., Any]:
    def compile_graph(module: GraphModule, _inputs: Sequence[Any]) -> Any:
        remove_clones(module)
        return _Graph(kind, module, fuse, passes)

    return compile_graph


def compile_backend(
    module: GraphModule,
    inputs: Sequence[Any],
    *,
    options: dict[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """The backend. Options: `fuse` (True), whether pointwise kernels are fused; `passes`, a dict
    of settings of the compiler's passes, {} for the default, e.g. {"schedule": 0}. ValueError for
    other options and for a mode, which only Inductor has.
    """
    if mode not in (None, "default"):
        raise ValueError(f"torch.compile(backend='{BACKEND}') has no mode '{mode}'")
    chosen = dict(options or {})
    fuse = bool(chosen.pop("fuse", True))
    passes = {name: int(value) for name, value in chosen.pop("passes", {}).items()}
    if chosen:
        raise ValueError(
            f"torch.compile(backend='{BACKEND}') has no option {', '.join(map(repr, chosen))}; "
            "there are 'fuse' and 'passes'"
        )
    backend = aot_autograd(
        fw_compiler=_compiler("forward", fuse, passes),
        bw_compiler=_compiler("backward", fuse, passes),
        inference_compiler=_compiler("inference", fuse, passes),
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )
    with kept_whole():
        return backend(module, inputs)
