"""Kernels of either language that leave numbers and files when they are called.

The vendor's benchmark and profile do not use the values of their inputs, and their outputs are
undefined; here the kernel is traced, checked and timed but not computed. A language builds its
classes from these and its own Kernel, and its decorators with `decorators`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from neuron_sim.nki.measurement.benchmark import BenchmarkResult, measure
from neuron_sim.nki.measurement.profile import profile_kernel
from neuron_sim.nki.measurement.program_file import save_program, save_trace
from neuron_sim.nki.measurement.timing_only import timing_only
from neuron_sim.nki.syntax.places import entry
from neuron_sim.nki.tracing import tracing


class MeasuredKernel:
    """A kernel with options of its decorator, the compiler's flags `additional_compile_opt` among
    them. `kernel[grid]` shares the results of `kernel`."""

    mode = "baremetal"
    options: dict[str, Any]
    results: dict[str, Any]
    func: Callable
    call: Callable

    @classmethod
    def of(cls, kernel: Any, options: dict[str, Any]) -> MeasuredKernel:
        """A kernel of the language with these options."""
        measured = cls.__new__(cls)
        measured.__dict__.update(kernel.__dict__)
        measured.mode = cls.mode
        measured.options = {**kernel.options, **options}
        measured.results = {}
        return measured

    @entry
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if tracing():  # a part of another kernel
            return super().__call__(*args, **kwargs)  # type: ignore[misc]
        call = self.call(*args, **kwargs)
        return self._measured(call.trace(), call.arrays)

    def _measured(self, traced: Any, arrays: list) -> Any:
        raise NotImplementedError


class BaremetalKernel(MeasuredKernel):
    """Runs, and saves its program and trace where `save_neff_name`, `save_trace_name` say."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(self.options.get(name) for name in ("save_neff_name", "save_trace_name")):
            self.call(*args, **kwargs).check_whole("saves its program")
            return super().__call__(*args, **kwargs)
        return super(MeasuredKernel, self).__call__(*args, **kwargs)  # type: ignore[misc]

    def _measured(self, traced: Any, arrays: list) -> Any:
        result = traced.run(arrays)
        if self.options.get("save_neff_name"):
            save_program(traced, self.options["save_neff_name"])
        if self.options.get("save_trace_name"):
            save_trace(traced, self.options["save_trace_name"])
        return result


class BenchmarkedKernel(MeasuredKernel):
    """Prints the vendor's table when it is called, then has `benchmark_result`."""

    mode = "benchmark"

    @property
    def benchmark_result(self) -> BenchmarkResult:
        """The result of the last call. AttributeError before the first one."""
        if "benchmark" not in self.results:
            raise AttributeError(f"kernel '{self.func.__name__}' was not called yet: no result.")
        return self.results["benchmark"]

    def _measured(self, traced: Any, arrays: list) -> Any:
        traced.decide_loops(arrays)
        self.results["benchmark"] = measure(traced, **self.options)
        with timing_only():
            return traced.run(arrays)


class ProfiledKernel(MeasuredKernel):
    """Writes its program, traces and summaries to the working directory when it is called."""

    def _measured(self, traced: Any, arrays: list) -> Any:
        traced.decide_loops(arrays)
        profile_kernel(traced, **self.options)
        with timing_only():
            return traced.run(arrays)


def decorators(
    kernel_class: type, kernel_of: Callable[[Callable], Any]
) -> tuple[Callable, Callable, Callable]:
    """baremetal, benchmark and profile of a language, whose kernels are of `kernel_class`.

    `kernel_of` makes one of a function.
    """

    def with_base(base: type[MeasuredKernel]) -> type[MeasuredKernel]:
        return type(base.__name__, (base, kernel_class), {"__doc__": base.__doc__})

    def decorator(measured: type[MeasuredKernel], kernel: Any, options: dict) -> MeasuredKernel:
        return measured.of(
            kernel if isinstance(kernel, kernel_class) else kernel_of(kernel), options
        )

    run, time, write = (with_base(c) for c in (BaremetalKernel, BenchmarkedKernel, ProfiledKernel))

    def baremetal(kernel: Any = None, **options: Any) -> Any:
        """A kernel that is compiled and run on NumPy arrays.

        save_neff_name, save_trace_name: files of its program and its trace, written at each call.
        """
        if kernel is None:
            return functools.partial(baremetal, **options)
        return decorator(run, kernel, options)

    def benchmark(kernel: Any = None, **options: Any) -> Any:
        """A kernel whose calls print its latency as the vendor's table.

        warmup, iters, save_neff_name, save_trace_name: see measurement.measure. After a call
        `benchmark_result.nc_latency.get_latency_percentile(p)` is in microseconds; p is 0, 1, 10,
        25, 50, 90, 99 or 100. The arrays it returns are not computed: NaN, and 4 for integers.
        """
        if kernel is None:
            return functools.partial(benchmark, **options)
        return decorator(time, kernel, options)

    def profile(func: Any = None, **options: Any) -> Any:
        """A kernel whose calls write a profile to a folder: see measurement.profile_kernel."""
        if func is None:
            return functools.partial(profile, **options)
        if "working_directory" not in options:
            raise ValueError("'profile': working_directory must be given, an absolute path.")
        return decorator(write, func, options)

    return baremetal, benchmark, profile
