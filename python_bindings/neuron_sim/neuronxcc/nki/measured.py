"""Kernels that leave numbers and files: nki.benchmark, nki.profile, nki.baremetal with file names.

The vendor's benchmark and profile do not use the values of their inputs, and their outputs are
undefined; here the kernel is traced, checked and timed but not computed.
"""

from __future__ import annotations

import functools
from typing import Any

from neuron_sim.nki import measurement

from .kernel import Kernel


class MeasuredKernel(Kernel):
    """A kernel with options of its decorator. `kernel[grid]` shares the results of `kernel`."""

    mode = "baremetal"
    options: dict[str, Any]
    results: dict[str, Any]

    @classmethod
    def of(cls, kernel: Any, options: dict[str, Any]) -> MeasuredKernel:
        """A function or a kernel of any mode with these options."""
        if not isinstance(kernel, Kernel):
            kernel = Kernel(kernel, "baremetal", checked=False)
        measured = cls.__new__(cls)
        measured.__dict__.update(kernel.__dict__)
        measured.mode = cls.mode
        measured.options = dict(options)
        measured.results = {}
        return measured

    def __call__(self, *args, **kwargs):
        from neuron_sim.nki.tracing import tracing

        if tracing():
            return self._inlined(args, kwargs)
        call = self.call(*args, **kwargs)
        return self._measured(call.trace(), call.arrays)

    def _measured(self, traced, arrays):
        raise NotImplementedError


class BaremetalKernel(MeasuredKernel):
    """Runs, and saves its program and trace where `save_neff_name`, `save_trace_name` say."""

    def _measured(self, traced, arrays):
        result = traced.run(arrays)
        if self.options.get("save_neff_name"):
            measurement.save_program(traced, self.options["save_neff_name"])
        if self.options.get("save_trace_name"):
            measurement.save_trace(traced, self.options["save_trace_name"])
        return result


class BenchmarkedKernel(MeasuredKernel):
    """Prints the vendor's table when it is called, then has `benchmark_result`."""

    mode = "benchmark"

    @property
    def benchmark_result(self) -> measurement.BenchmarkResult:
        """Of the last call. AttributeError before the first one."""
        if "benchmark" not in self.results:
            raise AttributeError(f"kernel '{self.func.__name__}' was not called yet: no result.")
        return self.results["benchmark"]

    def _measured(self, traced, arrays):
        self.results["benchmark"] = measurement.measure(traced, **self.options)
        with measurement.timing_only():
            return traced.run(arrays)


class ProfiledKernel(MeasuredKernel):
    """Writes its program, traces and summaries to the working directory when it is called."""

    def _measured(self, traced, arrays):
        measurement.profile_kernel(traced, **self.options)
        with measurement.timing_only():
            return traced.run(arrays)


def baremetal(kernel=None, **options):
    """A kernel that is compiled and run on NumPy arrays.

    save_neff_name, save_trace_name: files of its program and its trace, written at each call.
    """
    if kernel is None:
        return functools.partial(baremetal, **options)
    return BaremetalKernel.of(kernel, options)


def benchmark(kernel=None, **options):
    """A kernel whose calls print its latency as the vendor's table.

    warmup, iters, save_neff_name, save_trace_name: see measurement.measure. After a call
    `benchmark_result.nc_latency.get_latency_percentile(p)` is in microseconds; p is 0, 1, 10, 25,
    50, 90, 99 or 100. The arrays it returns are not computed: NaN, and 4 for integers.
    """
    if kernel is None:
        return functools.partial(benchmark, **options)
    return BenchmarkedKernel.of(kernel, options)


def profile(func=None, **options):
    """A kernel whose calls write a profile to a folder: see measurement.profile_kernel."""
    if func is None:
        return functools.partial(profile, **options)
    if "working_directory" not in options:
        raise ValueError("'profile': working_directory must be given, an absolute path.")
    return ProfiledKernel.of(func, options)
