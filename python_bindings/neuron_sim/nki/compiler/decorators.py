"""Decorators of kernels, and directives within them, that steer the vendor's compiler.

A decorator returns a new kernel; below nki.jit it marks the function.
"""

from typing import Any


def skip_middle_end_transformations(func: Any = None) -> Any:
    """The kernel compiled without the middle end: loops and buffers stay as written."""
    return _decorated(func, "skip_middle_end_transformations")


def enable_stack_allocator(func: Any = None, log_level: int = 50) -> Any:
    """Tiles are allocated by scope: placement by liveness includes it. Directly and automatically
    allocated tensors may be mixed."""
    return _decorated(func, "enable_stack_allocator")


def force_auto_alloc(func: Any = None) -> Any:
    """Direct allocations are ignored: all tiles are placed automatically."""
    return _decorated(func, "force_auto_alloc")


def _decorated(func: Any, directive: str) -> Any:
    if func is None:
        return lambda function: _decorated(function, directive)
    if hasattr(func, "with_directive"):  # a kernel of the old language
        return func.with_directive(directive)
    func._neuron_sim_directives = getattr(func, "_neuron_sim_directives", frozenset()) | {directive}
    return func


class Directive:
    """Given to a loop or a tensor (`directives=`), or a context. The result does not depend on it,
    and its effect on the compiler is not modelled."""

    def __init__(self, name: str):
        self.name = name

    def __enter__(self) -> "Directive":
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def __repr__(self) -> str:
        return self.name


def multi_buffer(factor: int = 2) -> Directive:
    """Requests `factor` buffers for a loop's tiles. The compiler's passes choose the number."""
    if isinstance(factor, bool) or not isinstance(factor, int) or factor < 1:
        raise ValueError(f"factor {factor!r} of 'multi_buffer' must be a positive int.")
    return Directive(f"multi_buffer({factor})")


def no_reorder() -> Directive:
    """Requests to keep the order of the instructions of a loop."""
    return Directive("no_reorder()")


def allocation_scope() -> Directive:
    """A scope of tiles; placement by liveness ends their lives with their last use."""
    return Directive("allocation_scope()")
