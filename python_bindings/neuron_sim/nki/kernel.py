"""Decorators of the new language, which make Python functions kernels."""

import functools
import os

from .in_graphs import capture_calls
from .isa.versions import architecture_of
from .launch.calls import Call, TracedKernel
from .launch.compiler_flags import flags_of
from .launch.ranks import RankedKernel
from .syntax.places import entry
from .tracing import tracing
from .tracing.grid import grid_of


class Kernel:
    """A function that is traced into a program for every set of argument shapes.

    `grid`: (number of physical cores,) of kernel[cores]; the cores of a logical core run the kernel
    side by side. `options` of the decorator, of which the compiler's flags matter.
    `platform_target`: the architecture unless the environment names one.
    """

    __name__: str
    __test__ = False  # a kernel called test_... is not a test

    def __init__(
        self,
        function,
        grid: tuple = (),
        options: dict | None = None,
        platform_target: str | None = None,
    ):
        functools.update_wrapper(self, function)
        self.func = function
        self.grid = grid
        self.schedule: tuple = ()  # (consumer, producers) by name
        self.options = dict(options or {})
        self.platform_target = platform_target

    # A call that is no node of a graph (nki/torch/kernel_variable.py) runs between two graphs.
    _torchdynamo_disable = True

    def __getitem__(self, key) -> "Kernel":
        grid = grid_of(key)
        if len(grid) != 1:
            raise ValueError(
                f"the grid of a kernel is the number of cores of a logical core (LNC), but "
                f"kernel '{self.__name__}' got {list(grid)}."
            )
        on_cores = type(self).__new__(type(self))
        on_cores.__dict__.update(self.__dict__)
        on_cores.grid = grid
        return on_cores

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def with_schedule(self, edges) -> "Kernel":
        """The kernel with an order between instructions: pairs of names (consumer, producer), or
        (consumer, [producers]), as given to `name=` of nki.isa functions. A consumer starts when
        its producers are complete. TypeError for anything but such pairs; names are looked up when
        the kernel is traced.
        """
        pairs = []
        for edge in edges:
            if not isinstance(edge, tuple | list) or len(edge) != 2:
                raise TypeError(f"with_schedule takes pairs (consumer, producers), got {edge!r}.")
            consumer, producers = edge
            producers = (producers,) if not isinstance(producers, list | tuple) else producers
            if not all(isinstance(name, str) for name in (consumer, *producers)):
                raise TypeError(f"with_schedule takes names of instructions, got {edge!r}.")
            pairs.append((consumer, tuple(producers)))
        scheduled = type(self).__new__(type(self))
        scheduled.__dict__.update(self.__dict__)
        scheduled.schedule = tuple(pairs)
        return scheduled

    def call(self, *args, **kwargs) -> Call:
        """The kernel bound to arguments, to be traced."""
        cores = self.grid[0] if self.grid else 1
        return Call(
            self.func, args, kwargs, "new", architecture_of(self.platform_target), self.grid,
            cores=cores, directives=frozenset({"skip_middle_end_transformations"}),
            widens=os.environ.get("NKI_PRECISE_FP") == "0", schedule=self.schedule,
            flags=flags_of(self.options),
        )  # fmt: skip

    @entry
    def traced(self, *args, **kwargs) -> TracedKernel:
        """The program for these arguments; arrays give shapes and dtypes only."""
        return self.call(*args, **kwargs).trace()

    @entry
    def __call__(self, *args, **kwargs):
        if tracing():
            if self.grid:
                raise ValueError(
                    f"kernel '{self.__name__}' has a grid and is called inside another kernel; "
                    "nested kernels cannot have a grid."
                )
            return self.func(*args, **kwargs)
        return self.call(*args, **kwargs).run()


capture_calls(Kernel)


def jit(func=None, mode=None, platform_target=None, **options):
    """Makes a function a kernel. `additional_compile_opt`: flags of the compiler; `platform_target`
    is of SDK 2.27 and 2.28 (later ones read NEURON_PLATFORM_TARGET_OVERRIDE, which comes before
    it here); `mode` and other options change nothing, as in the vendor's."""
    if func is None:
        return functools.partial(jit, mode=mode, platform_target=platform_target, **options)
    if isinstance(func, Kernel):
        return func
    return Kernel(func, options=options, platform_target=platform_target)


def simulate(kernel, ranks: int | None = None):
    """The kernel run on NumPy arrays: simulate(kernel)(*arrays), simulate(kernel[2])(*arrays).

    With `ranks`, which the vendor's function lacks, on that many at once: see nki.collectives. Also
    for kernels of the old language.
    """
    if not hasattr(kernel, "call"):
        kernel = Kernel(kernel)
    return kernel if ranks is None else RankedKernel(kernel, ranks)
