"""Decorators of the old language, which make Python functions kernels."""

import ast
import functools
import inspect

from neuron_sim.nki.in_graphs import capture_calls
from neuron_sim.nki.isa.versions import architecture_of
from neuron_sim.nki.launch.calls import Call, TracedKernel
from neuron_sim.nki.launch.compiler_flags import flags_of
from neuron_sim.nki.syntax.names import own_nodes
from neuron_sim.nki.syntax.places import entry
from neuron_sim.nki.syntax.source import syntax_of
from neuron_sim.nki.tracing import tracing
from neuron_sim.nki.tracing.grid import grid_of
from neuron_sim.nki.typing.annotations import is_mutable

_MODES = ("auto", "jax", "torchxla", "baremetal", "benchmark", "simulation", "trace")


def _writable_parameter(parameter) -> bool:
    return parameter is not None and is_mutable(parameter.annotation)


class Kernel:
    """A function that is traced into a program for every set of argument shapes.

    `mode` as the vendor's jit. `directives`: names of the decorators of nki.compiler. `grid`: sizes
    of the grid, kernel[grid]. `checked`: arrays may be written only where annotated as mutable.
    `options` of the decorator, of which the compiler's flags matter.
    """

    __name__: str
    __test__ = False  # a kernel called test_... is not a test

    def __init__(
        self, function, mode: str = "auto", platform_target=None, checked=True, options=None
    ):
        if mode not in _MODES:
            raise ValueError(f"unknown mode '{mode}' of nki.jit; allowed: {', '.join(_MODES)}.")
        functools.update_wrapper(self, function)
        self.func = function
        self.mode = mode
        self.platform_target = platform_target
        self.grid: tuple = ()
        self.checked = checked
        self.options = dict(options or {})
        self.directives: frozenset = getattr(function, "_neuron_sim_directives", frozenset())

    # A call that is no node of a graph (nki/torch/kernel_variable.py) runs between two graphs.
    _torchdynamo_disable = True

    def __getitem__(self, key) -> "Kernel":
        return self._copy(grid=grid_of(key))

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def _copy(self, **changes) -> "Kernel":
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(changes)
        return copy

    def with_directive(self, directive: str) -> "Kernel":
        """A new kernel with a directive of nki.compiler."""
        return self._copy(directives=self.directives | {directive})

    def call(self, *args, **kwargs) -> Call:
        """The kernel bound to arguments, to be traced."""
        writable = _writable_parameter if self.checked else None
        if self.checked and not _returns(self.func):
            writable = None  # kernels that return nothing write to their arguments
        return Call(
            self.func, args, kwargs, "old", architecture_of(self.platform_target), self.grid,
            directives=self.directives, mutable=writable, widens=self.mode == "simulation",
            flags=flags_of(self.options),
        )  # fmt: skip

    @entry
    def traced(self, *args, **kwargs) -> TracedKernel:
        """The program for these arguments; arrays give shapes and dtypes only."""
        return self.call(*args, **kwargs).trace()

    @entry
    def __call__(self, *args, **kwargs):
        if tracing():
            return self._inlined(args, kwargs)
        if self.mode == "trace":
            raise RuntimeError(
                f"kernel '{self.__name__}' of mode 'trace' is a part of another kernel; "
                "decorate it with nki.jit, or call it through nki.simulate_kernel."
            )
        return self.call(*args, **kwargs).run()

    def _inlined(self, args, kwargs):
        if self.grid:
            grid = ",".join(map(str, self.grid))
            raise ValueError(
                f"Calling kernel with spmd grid ({self.__name__}[{grid}]) inside another kernel is "
                "not supported"
            )
        return self.func(*args, **kwargs)


capture_calls(Kernel)


@functools.lru_cache(maxsize=1024)
def _returns(function) -> bool:
    """Whether a function has a return statement with a value."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return True
    syntax = syntax_of(code)
    if syntax is None or syntax.function is None:
        return False  # unknown: it may write to all of its arguments
    values = [each.value for each in own_nodes(syntax.function) if isinstance(each, ast.Return)]
    nothing = [each is None or ast.unparse(each) == "None" for each in values]
    return isinstance(syntax.function, ast.Lambda) or not all(nothing)


def _function_of(kernel):
    return kernel.func if isinstance(kernel, Kernel) else kernel


def jit(func=None, mode: str = "auto", platform_target=None, **options):
    """Makes a function a kernel; applied to a kernel it changes its mode.

    `additional_compile_opt`: flags of the compiler. Other options change nothing.
    """
    if func is None:
        return functools.partial(jit, mode=mode, platform_target=platform_target, **options)
    if isinstance(func, Kernel):
        return func._copy(
            mode=mode,
            platform_target=platform_target or func.platform_target,
            options=func.options | options,
        )
    return Kernel(func, mode, platform_target, options=options)


def trace(func=None, **options):
    """A function whose instructions become part of the kernel that calls it."""
    if func is None:
        return functools.partial(trace, **options)
    return Kernel(_function_of(func), "trace", checked=False)


def simulate_kernel(kernel, *args, **kwargs):
    """Runs a kernel on NumPy arrays; `kernel[grid]` for one with a grid."""
    if not isinstance(kernel, Kernel):
        kernel = Kernel(kernel, "simulation", checked=False)
    return kernel._copy(mode="simulation")(*args, **kwargs)
