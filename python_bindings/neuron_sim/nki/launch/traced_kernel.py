"""A kernel that was traced: its programs, its time, its run."""

import functools
import math
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from neuron_sim import _core

from ..legality.judge import judge_array
from ..measurement.generations import GENERATIONS
from ..syntax.places import point_at_line, point_at_message
from ..tracing.trace import Trace
from . import memory, sanitize
from .arrays import as_bytes, copy_into_torch, host_bytes, is_declared, is_numpy, to_torch
from .compiler_flags import logical_cores_of
from .printing import show

_BEYOND_ROWS = re.compile(r"Out-of-bound access for tensor `(\w+)` on dimension 0: index (\d+) of")


def is_timing_only() -> bool:
    """Whether kernels take time but compute nothing."""
    measurement = sys.modules.get("neuron_sim.nki.measurement")
    if measurement is None:
        return _core.setting("NEURON_SIM_TIMING_ONLY") == "1"
    return measurement.is_timing_only()


def torch_of(arrays: list):
    """torch when an input is one of its tensors."""
    others = [each for each in arrays if not is_numpy(each) and not is_declared(each)]
    return sys.modules.get("torch") if others else None


class TracedKernel:
    """A kernel as a program.

    `source`: the program as it is written; `program`: after the passes of the compiler with its
    `flags` (made on first access). `inputs`: one Input per array argument, the program's first
    arguments; the others are HBM tensors of the kernel. `returned`: its result, with an Output for
    every tensor. `simulation`: errors of the run are those of the vendor's simulation.
    """

    def __init__(
        self,
        trace: Trace,
        source,
        inputs: list,
        returned,
        direct: bool,
        simulation: bool,
        flags: tuple[str, ...] = (),
    ):
        self.source = source
        self.inputs = inputs
        self.returned = returned
        self.direct = direct
        self.flags = flags
        self.simulation = simulation
        self.language = trace.language
        self.name = trace.name
        self.architecture = trace.architecture
        self.arguments = [(storage.shape, storage.dtype) for storage in trace.arguments]
        self.unrolled = trace.unrolled
        self.printed = trace.printed or []
        self.claims = trace.claims.entries
        self.private = trace.claims.private
        self.declared = {  # lines that made the outputs, by label
            source.arguments[number]["label"]: line for number, line in trace.declared.items()
        }
        self.findings: list = []  # of the sanitizer, those that need no data
        self.has_prints = False  # whether it calls nl.device_print
        self.with_prints: Callable[[], TracedKernel] | None = None
        self.contents: list | None = None  # of the arguments, when it ran while it was traced
        self.log: list[int] = []  # decisions of loops on registers in the last run
        self.call: Any = None  # that was traced, without its arrays
        self._program: _core.Program | None = None
        self._compiled_kernel = None
        self._is_written = False  # every output, as far as it was checked

    @property
    def compiled_kernel(self):
        """For launches on a device of torch: the time of the program, the bytes of the source."""
        if self._compiled_kernel is None:
            self._compiled_kernel = self.program.compiled_kernel(self.source)
        return self._compiled_kernel

    @functools.cached_property
    def kernel_in_graphs(self):
        """For programs of whole graphs: the program by passes that keep every byte."""
        if not self.settings["elide_rounding_copies"]:
            return self.compiled_kernel
        exact = _core.compile_program(self.source, self.settings | {"elide_rounding_copies": 0})
        return exact.compiled_kernel(self.source)

    @functools.cached_property
    def objection(self) -> str:
        """Why the compiler's passes do not take the program; empty when they do."""
        return memory.pass_objection(self.source)

    @property
    def settings(self) -> dict:
        """Settings of the passes: the stack's, and whether they split an old kernel (by flag)."""
        splits = self.language == "old" and not self.direct and logical_cores_of(self.flags) > 1
        return _core.published_stacks()[self.stack]["settings"] | {"split_over_cores": splits}

    @property
    def stack(self) -> str:
        """Name of the published stack whose passes compile the program; none with an objection."""
        if self.objection:
            return "none"
        return GENERATIONS[self.source.generation].stack(self.direct, self.flags)

    @property
    def program(self):
        """The program after the passes of the compiler (`direct`: without its middle end), or as it
        is written, with a warning that says why."""
        if self._program is None:
            if objection := self.objection:
                warnings.warn(
                    f"kernel '{self.source.kernel}' is timed as it is written, without the "
                    f"compiler's passes: {objection}.",
                    stacklevel=2,
                )
                self._program = self.source
            else:
                self._program = _core.compile_program(self.source, self.settings)
                memory.warn_of_spills(self._program)
        return self._program

    def time(self) -> dict:
        """Simulated times of the compiled program: body_us, latency_us, profile_us, ...

        With loops that depend on data, the times of the last run; ValueError before the first
        one, unless NEURON_SIM_DYNAMIC_TRIPS says how many iterations to assume.
        """
        return self.program.time(log=self.log)

    @functools.cached_property
    def changes(self) -> list:
        """Changes to the kernel that make it faster, tried one by one: timeline.changes.Change."""
        from ..advice import kernel_changes  # rarely wanted

        return kernel_changes(self)

    def returned_numbers(self) -> list[int]:
        """Numbers of the arguments in the kernel's result."""
        return _numbers(self.returned)

    def check_written(self) -> None:
        """err_tensor_output_not_written_to, at the line that made the output."""
        for number in self.returned_numbers():
            argument = self.source.arguments[number]
            if number < len(self.inputs) or argument["written"]:
                continue
            error = ValueError(
                f"Output tensor `{argument['label']}` was never written to: a loop that stores to "
                "it may not be entered."
            )
            point_at_line(error, self.declared.get(argument["label"], ""))
            raise error

    def run(self, arrays: list):
        """Computes the kernel on arrays, one per input; written inputs are changed in place.

        Returns what the kernel returned, with new arrays of the inputs' kind: NumPy arrays, CPU
        tensors, tensors of the same neuron_sim device (launched on its current stream), or tensors
        without data (meta, fake), for which nothing is computed. ValueError for an output that the
        kernel never writes.
        """
        if not self._is_written:
            self.check_written()
            self._is_written = True
        if torch_of(arrays) is not None:
            from . import torch_tensors  # needs torch

            kind = torch_tensors.kind_of(self.name, arrays, self.inputs)
            torch_tensors.check_operator(self, arrays)
            if kind != "host":
                return self._results(self.returned, arrays, self._on_device(kind, arrays), None)
        if is_timing_only():
            return self._results(self.returned, arrays, self._fresh(arrays), torch_of(arrays))
        computed = self.with_prints() if self.with_prints else self
        results = computed._computed(arrays)
        self.log = computed.log
        if _core.setting("NEURON_SIM_CLOCK") == "simulated":  # the caller waits for the chip
            _core.spend_host_time(round(self.time()["latency_us"] * 1e6))
        self.record_profile()
        return results

    def note_run(self, log: list[int]) -> None:
        """A run's decisions determine time() if loops depend on them: the passes leave
        such programs unchanged."""
        if self.source.has_dynamic_loops:
            self.log = log

    def decide_loops(self, arrays: list) -> None:
        """Runs a kernel whose loops depend on data on copies of its arrays, so that its time is
        known; arrays without data, and timing_only(), leave it unknown."""
        if not self.source.has_dynamic_loops or is_timing_only():
            return
        if not any(is_declared(each) for each in arrays):
            self._computed(
                [np.array(e) if is_numpy(e) else e.detach().cpu().clone() for e in arrays]
            )

    def _on_device(self, kind: str, tensors: list) -> list:
        """The tensors of all arguments after a launch; for kind "meta" without one."""
        from . import torch_tensors  # needs torch

        if kind == "meta":
            return tensors + torch_tensors.results_of(self, tensors)
        computes = not is_timing_only()
        if computes and self.with_prints is not None:  # of copies, besides the launch
            self.with_prints()._computed([each.detach().cpu().clone() for each in tensors])
        contents = torch_tensors.launch(self, tensors, computes)
        sanitize.report_launches()
        self.record_profile()
        return contents

    def record_profile(self) -> None:
        """Writes the profile of a run, or shows it, where the environment asks for that."""
        wanted = ("NEURON_SIM_PROFILE", "NEURON_SIM_TIMELINE", "NEURON_SIM_ADVICE")
        if any(map(_core.setting, wanted)):
            from neuron_sim.nki.measurement import record  # slow to import

            record(self)

    def prepared(self, arrays: list) -> "PreparedRun":
        """A run on host arrays that the caller starts, as one of several ranks."""
        return PreparedRun(self.with_prints() if self.with_prints else self, arrays)

    def _computed(self, arrays: list):
        run = PreparedRun(self, arrays)
        try:
            if sanitize.wanted():
                self.note_run(sanitize.run_checked(self, run.bytes))
            else:
                self.note_run(self.source.run(run.bytes))
        except IndexError as error:
            point_at_message(error)
            raise (self._of_simulation(error) if self.simulation else error) from None
        except ValueError as error:
            point_at_message(error)
            raise
        return run.results()

    def _of_simulation(self, error: IndexError) -> IndexError:
        """The vendor's simulation reports the first element of a row that is out of range."""
        found = _BEYOND_ROWS.search(str(error))
        names = [] if found is None else [each["label"] for each in self.source.arguments]
        if found is None or found[1] not in names:
            return error
        shape = self.arguments[names.index(found[1])][0]
        row = math.prod(shape[1:])
        translated = IndexError(
            f"index {int(found[2]) * row} is out of bounds for axis 0 with size {shape[0] * row}"
        )
        for note in getattr(error, "__notes__", ()):
            translated.add_note(note)
        return translated

    def _fresh(self, arrays: list) -> list:
        """The contents of unwritten memory, for a timing-only run: NaN, 4 in integers."""
        contents = list(arrays)
        for shape, dtype in self.arguments[len(arrays) :]:
            value = np.nan if dtype.is_float else 4
            packed = not (dtype.is_float or dtype.is_integer)
            contents.append(
                np.zeros(shape, dtype.numpy) if packed else np.full(shape, value, dtype.numpy)
            )
        return contents

    def _write_back(self, arrays: list, buffers: list) -> None:
        """Written inputs that were converted for the run."""
        for position, (array, buffer) in enumerate(zip(arrays, buffers, strict=True)):
            if (
                buffer is array
                or is_declared(array)
                or not self.source.arguments[position]["written"]
            ):
                continue
            if is_numpy(array):
                array[...] = buffer.astype(array.dtype)
            else:
                copy_into_torch(array, buffer)

    def _results(self, value, arrays: list, contents: list, torch):
        if type(value) is Output:
            if value.number < len(arrays):
                return arrays[value.number]
            array = contents[value.number].reshape(value.shape)
            return array if torch is None else to_torch(torch, array)
        if type(value) in (tuple, list):
            return type(value)(self._results(each, arrays, contents, torch) for each in value)
        if type(value) is dict:
            return {k: self._results(v, arrays, contents, torch) for k, v in value.items()}
        return value


class PreparedRun:
    """The host memory of a run: `bytes` of every argument of `source`."""

    def __init__(self, kernel: TracedKernel, arrays: list):
        self._kernel = kernel
        self._arrays = arrays
        self._buffers = [
            host_bytes(array, each) for array, each in zip(arrays, kernel.inputs, strict=True)
        ]
        for array, buffer, each in zip(arrays, self._buffers, kernel.inputs, strict=True):
            judge_array(kernel, each.name, array, buffer)
        self._contents = list(self._buffers)
        for shape, dtype in kernel.arguments[len(arrays) :]:
            self._contents.append(np.zeros(shape, dtype.numpy))
        self.source = kernel.source
        self.bytes = [as_bytes(each) for each in self._contents]

    def results(self):
        """The kernel's result, after the run; written inputs are changed in place."""
        kernel = self._kernel
        kernel._write_back(self._arrays, self._buffers)
        show(kernel.printed, self._contents)
        return kernel._results(
            kernel.returned, self._arrays, self._contents, torch_of(self._arrays)
        )


class Output:
    """A returned tensor: the number of its argument and its shape."""

    __slots__ = ("number", "shape")

    def __init__(self, number: int, shape: tuple):
        self.number = number
        self.shape = shape


def _numbers(value) -> list:
    if isinstance(value, Output):
        return [value.number]
    if type(value) is dict:
        value = list(value.values())
    return [n for each in value for n in _numbers(each)] if type(value) in (tuple, list) else []
