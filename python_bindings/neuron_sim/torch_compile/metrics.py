"""What the vendor's get_dynamo_metrics() tells of each graph (torch/compile/
reference-torch-compile), for the graphs of this process. Times are of the host."""

from __future__ import annotations

from dataclasses import dataclass

_DEFAULT = "model_default"
_names = [_DEFAULT]


def set_model_name(name: str) -> None:
    """Names the graphs that are compiled from now on without the option `model_name`."""
    _names[-1] = name


def get_model_name() -> str:
    """The name of graphs that are compiled without the option `model_name`."""
    return _names[-1]


@dataclass
class CompilationMetrics:
    """One compiled graph."""

    graph_id: str
    """Equal for graphs with the same operators, sizes and dtypes."""
    graph_name: str = ""
    """"{model_name}_{number}_{kind}_{number}", the numbers as AOTAutograd counts graphs."""
    model_name: str = ""
    has_collectives: bool = False
    graph_node_count: int = 0
    timestamp: str = ""
    """Nanoseconds since 1970, when it was compiled."""
    torch_neuronx_fx_passes_us: int = 0
    """Passes over the graph of torch.fx."""
    torch_neuronx_lower_us: int = 0
    """Operators to kernels of the device."""
    torch_neuronx_compile_us: int = 0
    """Kernels to programs."""


_compilations: list[CompilationMetrics] = []


def record(metrics: CompilationMetrics) -> None:
    """Adds a compiled graph."""
    _compilations.append(metrics)


def get_dynamo_metrics() -> list[CompilationMetrics]:
    """The graphs that this process compiled since reset_dynamo_metrics(), in their order."""
    return list(_compilations)


def reset_dynamo_metrics() -> None:
    """Forgets the compiled graphs."""
    _compilations.clear()
