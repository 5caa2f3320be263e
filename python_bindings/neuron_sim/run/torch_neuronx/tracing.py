"""torch_neuronx.trace: a model compiled once, for inference with CPU tensors.

Names, limits and defaults are those of the pages "PyTorch NeuronX Tracing API for Inference",
"Lazy and Asynchronous Loading API" and "Weight Replacement API for Inference" of the vendor.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shlex
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._functorch import config
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils import _pytree as pytree

from neuron_sim.run.torch_neuronx.xla_impl.traced_models import FACTS, TracedModel, loaded
from neuron_sim.torch_backend.fallback import strict

__all__ = [
    "async_load",
    "dynamic_batch",
    "lazy_load",
    "move_trace_to_device",
    "replace_weights",
    "trace",
]


class _Function(torch.nn.Module):
    """A function as the module that torch.export takes."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self._function = function

    def forward(self, *inputs: Any) -> Any:
        return self._function(*inputs)


class _Traced(torch.nn.Module):
    """What torch.jit.trace records: one call of the operator, and the structure of its outputs."""

    def __init__(
        self, archive: torch.Tensor, weights: Sequence[torch.Tensor], structure: Any
    ) -> None:
        super().__init__()
        self.register_buffer("model", archive)
        self.register_buffer("dynamic_batching", torch.tensor(False))
        self._weights = [f"weight_{place}" for place in range(len(weights))]
        for name, value in zip(self._weights, weights, strict=True):
            self.register_buffer(name, value)
        self._structure = structure

    def forward(self, *inputs: Any) -> Any:
        outputs = torch.ops.neuron_sim_traced.model(
            self.model,
            self.dynamic_batching,
            [getattr(self, name) for name in self._weights],
            pytree.tree_leaves(inputs),
        )
        return _structured(self._structure, iter(outputs))


def trace(
    func: Any,
    example_inputs: Any,
    *,
    input_output_aliases: Mapping[torch.Tensor, int] | None = None,
    compiler_workdir: str | os.PathLike[str] | None = None,
    compiler_args: str | Sequence[str] | None = None,
    partitioner_config: Any = None,
    inline_weights_to_neff: bool = True,
    cpu_backend: bool = False,
) -> torch.jit.ScriptModule:
    """The module or function as one device program, in a torch.jit.ScriptModule.

    The result takes CPU tensors of the shapes and dtypes of `example_inputs` (a tensor or a tuple)
    and returns CPU tensors; torch.jit.save and torch.jit.load keep it, in a process that has
    imported torch_neuronx. A list or mapping that does not hold tensors only becomes a tuple.
    `compiler_workdir` receives the graph as text. `cpu_backend` changes nothing: nothing here needs
    a chip.

    NotImplementedError for an operator that the device does not have, for `input_output_aliases`
    and for `partitioner_config`; TypeError for inputs or outputs that are not tensors; ValueError
    for a compiler option whose value is unknown.
    """
    del cpu_backend
    if input_output_aliases or partitioner_config is not None:
        name = "input_output_aliases" if input_output_aliases else "partitioner_config"
        raise NotImplementedError(f"torch_neuronx.trace: {name} is not simulated")
    inputs = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    _check_tensors("input", pytree.tree_leaves(inputs))
    module = func if isinstance(func, torch.nn.Module) else _Function(func)
    program = _exported(module, inputs)
    structure = program.call_spec.out_spec
    _check_tensors("output", _outputs(program))
    weights = {} if inline_weights_to_neff else dict(program.state_dict)
    facts = {"weight_names": list(weights), "options": _options(compiler_args)}
    file = io.BytesIO()
    torch.export.save(program, file, extra_files={FACTS: json.dumps(facts)})
    archive = torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)
    if compiler_workdir is not None:
        _write_graph(compiler_workdir, program)
    separate = [value.detach().clone() for value in weights.values()]
    try:
        with strict():
            loaded(archive).run(pytree.tree_leaves(inputs), separate)
    except Exception as error:
        raise getattr(error, "inner_exception", error) from None  # without TorchDynamo's advice
    with warnings.catch_warnings():  # of torch 2.14: it would replace torch.jit.trace
        warnings.simplefilter("ignore", FutureWarning)
        return torch.jit.trace(
            _Traced(archive, separate, structure), inputs, strict=False, check_trace=False
        )


def dynamic_batch(neuron_script: torch.jit.ScriptModule) -> torch.jit.ScriptModule:
    """Lets a traced module take other batch sizes (dimension 0); returns it.

    A batch runs in pieces of the traced size, the last one filled up with zeros.
    """
    _model_of(neuron_script)
    neuron_script.dynamic_batching.fill_(True)
    return neuron_script


def move_trace_to_device(trace: torch.jit.ScriptModule, device_id: int) -> None:
    """Makes one NeuronCore run a traced module, and keeps separate weights there."""
    _model_of(trace).move_weights(device_id)


def lazy_load(trace: torch.jit.ScriptModule, enable_lazy_load: bool = True) -> None:
    """No effect: every traced module is loaded by its first call, and that takes no simulated
    time."""
    _model_of(trace)


def async_load(trace: torch.jit.ScriptModule, enable_async_load: bool = True) -> None:
    """No effect: see lazy_load."""
    _model_of(trace)


def replace_weights(
    neuron_model: torch.jit.ScriptModule, weights: torch.nn.Module | Mapping[str, torch.Tensor]
) -> None:
    """Gives a module traced with inline_weights_to_neff=False other weights, by name.

    KeyError for a weight without a new value.
    """
    model = _model_of(neuron_model)
    if not model.weight_names:
        warnings.warn(
            "torch_neuronx.replace_weights: this module was traced with its weights inside "
            "(inline_weights_to_neff=True); they stay as they are",
            stacklevel=2,
        )
    values = weights.state_dict() if isinstance(weights, torch.nn.Module) else weights
    with torch.no_grad():
        for place, name in enumerate(model.weight_names):
            getattr(neuron_model, f"weight_{place}").copy_(values[name])
    model.forget_weights()


def _model_of(script: Any) -> TracedModel:
    archive = getattr(script, "model", None)
    if not isinstance(script, torch.jit.ScriptModule) or not isinstance(archive, torch.Tensor):
        raise TypeError(
            f"a module that torch_neuronx.trace returned is expected, not {type(script).__name__}"
        )
    return loaded(archive)


def _exported(module: torch.nn.Module, inputs: tuple) -> Any:
    """The graph of the module. Where the Python code asks for values it follows the example, and
    the graph does not ask again: "Fixed Control Flow" of the vendor's page."""
    try:
        with torch.no_grad():
            return torch.export.export(module, inputs, strict=False)
    except GuardOnDataDependentSymNode:
        with torch.no_grad(), config.patch(fake_tensor_propagate_real_tensors=True):
            program = torch.export.export(module, inputs, strict=False)
    graph = program.graph
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten._assert_scalar.default):
        graph.erase_node(node)
    graph.eliminate_dead_code(is_impure_node=lambda node: node.op in ("placeholder", "output"))
    return program


def _outputs(program: Any) -> list[Any]:
    """The traced outputs, without those that only update buffers."""
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    return [values.get(name) for name in program.graph_signature.user_outputs]


def _check_tensors(kind: str, values: Sequence[Any]) -> None:
    for place, value in enumerate(values):
        if not isinstance(value, torch.Tensor):
            raise TypeError(
                f"torch_neuronx.trace: {kind} {place} is {type(value).__name__}, not a tensor"
            )


def _structured(structure: Any, outputs: Any) -> Any:
    """The outputs in those containers that TorchScript has."""
    if structure.is_leaf():
        return next(outputs)
    values = [_structured(child, outputs) for child in structure.children()]
    if not all(isinstance(value, torch.Tensor) for value in values):
        return tuple(values)
    if issubclass(structure.type, Mapping):
        return dict(zip(structure.context, values, strict=True))
    return values if structure.type is list else tuple(values)


def _options(compiler_args: str | Sequence[str] | None) -> dict[str, str]:
    """The options of neuronx-cc that change what is computed; all others change nothing here."""
    words = shlex.split(compiler_args) if isinstance(compiler_args, str) else compiler_args or ()
    flags = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    flags.add_argument("--auto-cast")
    flags.add_argument("--auto-cast-type")
    known, _ = flags.parse_known_args(words)
    return {name: value for name, value in vars(known).items() if value is not None}


def _write_graph(folder: str | os.PathLike[str], program: Any) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "graph.txt"), "w", encoding="utf-8") as file:
        file.write(str(program))
