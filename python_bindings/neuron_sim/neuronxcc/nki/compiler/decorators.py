"""Decorators of kernels, and scopes within them, that steer the vendor's compiler.

Only skip_middle_end_transformations changes what the simulator does: the program then goes through
the passes of the compiler's direct stack. Tiles are placed by liveness in any case.
"""

from contextlib import contextmanager

from ..kernel import Kernel


def skip_middle_end_transformations(kernel):
    """The kernel (or function) compiled without the middle end: loops and buffers as written."""
    if isinstance(kernel, Kernel):
        kernel.direct = True
    else:
        kernel._neuron_sim_direct = True
    return kernel


def _option(kernel=None, **_options):
    """A decorator with or without arguments that gives the kernel back."""
    if kernel is None:
        return lambda decorated: decorated
    return kernel


def enable_stack_allocator(kernel=None, **options):
    """Allocation by scope, which placement by liveness includes."""
    return _option(kernel, **options)


def force_auto_alloc(kernel=None, **options):
    """Direct allocations are taken as written."""
    return _option(kernel, **options)


class _Scope:
    """Usable as a context and as a decorator."""

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None

    def __call__(self, function):
        return function


def multi_buffer(factor=2):
    """Asks for `factor` buffers of the tiles of a loop; the passes choose their number."""
    if factor < 1:
        raise ValueError(f"multi_buffer: factor {factor} is not positive.")
    return _Scope()


def no_reorder():
    """Instructions keep their order; engines start theirs in program order anyway."""
    return _Scope()


@contextmanager
def allocation_scope(*_arguments, **_options):
    """A scope of tiles."""
    yield
