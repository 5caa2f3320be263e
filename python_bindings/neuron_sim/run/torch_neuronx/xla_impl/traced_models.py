"""The models inside modules that `torch_neuronx.trace` returns.

A traced module holds its graph as an archive of torch.export in a tensor. Its first call loads the
archive and compiles the graph for each core that runs it. What is loaded belongs to that tensor and
is freed with it.
"""

from __future__ import annotations

import copy
import io
import itertools
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export.passes import move_to_device_pass
from torch.fx import GraphModule
from torch.fx.graph import CodeGen
from torch.utils.weak import WeakTensorKeyDictionary

from neuron_sim import _C
from neuron_sim.settings import device_name
from neuron_sim.torch_compile.backend import compile_backend

FACTS = "neuron_sim.json"
"""The file of the archive that says what torch.export does not know."""

_loaded: Any = WeakTensorKeyDictionary()
_loading = threading.Lock()
_next_core = itertools.count()


@dataclass(frozen=True)
class Split:
    """How DataParallel divides a batch among cores."""

    cores: Sequence[int]
    dim: int
    size: int
    """Elements of `dim` of one piece."""
    dynamic_batching: bool


class TracedModel:
    """One loaded model. As with the vendor's runtime, models go to the cores in turn."""

    def __init__(self, archive: torch.Tensor) -> None:
        files = {FACTS: ""}
        content = io.BytesIO(archive.cpu().numpy().tobytes())
        self._program = torch.export.load(content, extra_files=files)
        facts = json.loads(files[FACTS])
        self.weight_names: list[str] = facts["weight_names"]
        self._options: dict[str, Any] = facts["options"]
        self._inputs = _tensors(self._program, self._program.graph_signature.user_inputs)
        self._outputs = _tensors(self._program, self._program.graph_signature.user_outputs)
        self.cores: Sequence[int] = [next(_next_core) % _C.device_count()]
        self.weights_stay = False
        self._with_weights: set[int] = set()
        self._runs = 0
        self._modules: dict[int, tuple[Any, Callable[..., Any]]] = {}
        self._lock = threading.RLock()

    def place(self, cores: Sequence[int]) -> None:
        """Makes these cores run it, one call after the other. ValueError for one that is not
        there."""
        count = _C.device_count()
        for core in cores:
            if not 0 <= core < count:
                raise ValueError(
                    f"NeuronCore {core} is not there: this process has {count} "
                    "(NEURON_SIM_DEVICES sets their number)"
                )
        self.cores = list(cores)

    def move_weights(self, core: int) -> None:
        """Moves separate weights to a core once, instead of with each call."""
        self.place([core])
        self.weights_stay = True

    def forget_weights(self) -> None:
        """The next call takes separate weights from the CPU again."""
        self._with_weights.clear()

    def shapes_only(self) -> list[torch.Tensor]:
        """CPU tensors of the outputs' shapes and dtypes, without values."""
        return [torch.empty(value.shape, dtype=value.dtype) for value in self._outputs]

    def run(
        self,
        inputs: Sequence[torch.Tensor],
        weights: Sequence[torch.Tensor] = (),
        dynamic_batching: bool = False,
        split: Split | None = None,
    ) -> list[torch.Tensor]:
        """The outputs on the CPU. The pieces of a batch run at the same time, on their cores.

        ValueError for inputs of other shapes or dtypes than those that the model was traced with.
        """
        with self._lock, torch.no_grad():
            if split is None:
                self._runs += 1
                core = self.cores[self._runs % len(self.cores) - 1]
                split = Split([core], 0, max(1, _length(inputs, 0)), dynamic_batching)
            pieces = [
                (core, [value.to(torch.device(device_name(), core)) for value in piece], rows)
                for core, piece, rows in self._pieces(inputs, split)
            ]
            launched = [(self._launch(core, piece, weights), rows) for core, piece, rows in pieces]
            results = [[value.cpu() for value in outputs] for outputs, _ in launched]
        if len(results) == 1 and launched[0][1] is None:
            return results[0]
        for outputs, (_, rows) in zip(results, launched, strict=True):
            if rows is not None:
                outputs[:] = [value.narrow(0, 0, rows) for value in outputs]
        return [torch.cat(pieces, split.dim) for pieces in zip(*results, strict=True)]

    def _pieces(self, inputs: Sequence[torch.Tensor], split: Split) -> list[Any]:
        """(core, inputs, rows that count: None for all) of each launch."""
        if len(split.cores) == 1 and not split.dynamic_batching:
            self._check(inputs)
            return [(split.cores[0], inputs, None)]
        _check_equal_lengths(inputs, split.dim)
        pieces: list[Any] = []
        shares = zip(*(value.split(split.size, split.dim) for value in inputs), strict=True)
        for number, share in enumerate(shares):
            core = split.cores[number % len(split.cores)]
            if not split.dynamic_batching:
                self._check(share)
                pieces.append((core, share, None))
                continue
            batch = _length(self._inputs, 0)
            for piece in zip(*(value.split(batch, 0) for value in share), strict=True):
                rows = _length(piece, 0)
                padded = [_padded(value, batch) for value in piece]
                self._check(padded)
                pieces.append((core, padded, rows if rows < batch else None))
        return pieces

    def _check(self, inputs: Sequence[torch.Tensor]) -> None:
        if len(inputs) != len(self._inputs):
            raise ValueError(
                f"this traced module takes {len(self._inputs)} tensors, not {len(inputs)}"
            )
        for place, (value, expected) in enumerate(zip(inputs, self._inputs, strict=True)):
            if value.device.type != "cpu":
                raise ValueError(
                    f"input {place} is on {value.device}: a traced module takes CPU tensors and "
                    "moves them itself"
                )
            if value.shape != expected.shape or value.dtype != expected.dtype:
                raise ValueError(
                    f"input {place} is {list(value.shape)} of {value.dtype}, but the module was "
                    f"traced with {list(expected.shape)} of {expected.dtype}: trace it again, or "
                    "use torch_neuronx.dynamic_batch for another batch size"
                )

    def _launch(
        self, core: int, inputs: Sequence[torch.Tensor], weights: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        device = torch.device(device_name(), core)
        module, compiled = self._module(device)
        if weights and not (self.weights_stay and core in self._with_weights):
            state = module.state_dict()
            for name, value in zip(self.weight_names, weights, strict=True):
                state[name].copy_(value)
            self._with_weights.add(core)
        return list(compiled(*inputs))

    def _module(self, device: torch.device) -> tuple[Any, Callable[..., Any]]:
        if device.index not in self._modules:
            program = copy.deepcopy(self._program)  # the pass moves the weights of its argument
            moved = move_to_device_pass(program, device).module(check_guards=False)
            # Takes and returns lists of tensors, without the hooks that check their structure.
            moved.graph.set_codegen(CodeGen())
            module = GraphModule(moved, moved.graph)
            compiled = torch.compile(
                module.forward,  # a call of the module would hide its errors
                backend=compile_backend,
                fullgraph=True,
                dynamic=False,
                options=dict(self._options),
            )
            self._modules[device.index] = module, compiled
        return self._modules[device.index]


def loaded(archive: torch.Tensor) -> TracedModel:
    """The model of a traced module's archive, loaded when it is asked for the first time."""
    with _loading:
        model = _loaded.get(archive)
        if model is None:
            model = _loaded[archive] = TracedModel(archive)
        return model


_split = threading.local()


def run_split(split: Split, call: Callable[[], Any]) -> Any:
    """What `call` returns, with the batches of this thread's traced modules divided by `split`."""
    _split.now = split
    try:
        return call()
    finally:
        _split.now = None


def run(
    archive: torch.Tensor,
    dynamic_batching: torch.Tensor,
    weights: list[torch.Tensor],
    inputs: list[torch.Tensor],
) -> list[torch.Tensor]:
    """The operator neuron_sim_traced::model."""
    model = loaded(archive)
    if torch.jit.is_tracing():  # by torch_neuronx.trace, which has run the model already
        return model.shapes_only()
    return model.run(inputs, weights, bool(dynamic_batching), getattr(_split, "now", None))


def _tensors(program: Any, names: Sequence[str]) -> list[torch.Tensor]:
    """The tensors without data with which the graph was traced."""
    values = {node.name: node.meta["val"] for node in program.graph.nodes if "val" in node.meta}
    return [values[name] for name in names]


def _length(tensors: Sequence[torch.Tensor], dim: int) -> int:
    return tensors[0].shape[dim] if tensors and tensors[0].dim() > dim else 1


def _check_equal_lengths(inputs: Sequence[torch.Tensor], dim: int) -> None:
    lengths = {value.shape[dim] if value.dim() > dim else None for value in inputs}
    if len(lengths) != 1 or None in lengths:
        shapes = ", ".join(str(list(value.shape)) for value in inputs)
        raise ValueError(f"inputs {shapes} differ in dimension {dim}, along which they are split")


def _padded(value: torch.Tensor, rows: int) -> torch.Tensor:
    missing = rows - value.shape[0]
    return torch.cat([value, value.new_zeros(missing, *value.shape[1:])]) if missing else value
