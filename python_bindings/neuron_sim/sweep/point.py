"""The figures of one point, as a function of what can be sent to another process."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from neuron_sim import _core, settings
from neuron_sim.run import aliases
from neuron_sim.sweep.energy import energy_figures
from neuron_sim.sweep.inputs import declared_input, size_names
from neuron_sim.sweep.study import ARCHITECTURE, MODEL, Point, Study, Value
from neuron_sim.terminal.exit_codes import failures_of, sentence_of
from neuron_sim.terminal.suggestions import did_you_mean
from neuron_sim.timeline.hardware import override_file
from neuron_sim.timeline.interval import interval, kind_of
from neuron_sim.timeline.page import write_timeline

_environment = threading.Lock()  # the architecture is one of the process


def evaluate(study: Study, point: Point) -> dict[str, Any]:
    """The figures of a point by name; {"error": sentence} for one that fails.

    Of a kernel: KernelFigures. Of a model: what `neuron-sim model --json` tells.
    OSError or ProgramError when the target cannot be loaded at all.
    """
    with _environment, _architecture(study, point):
        if study.is_model:
            return _model_figures(study, point)
        return _kernel_figures(study, target_of(study), point)


@contextlib.contextmanager
def _architecture(study: Study, point: Point) -> Iterator[None]:
    """The architecture of the point, as the environment's."""
    base = str(point.get(ARCHITECTURE, study.architecture))
    base = os.path.abspath(base) if base.endswith(".toml") else base
    changes = {
        name.removeprefix(f"{ARCHITECTURE}."): value
        for name, value in point.items()
        if name.startswith(f"{ARCHITECTURE}.")
    }
    before = _core.setting(settings.ARCHITECTURE)
    with tempfile.TemporaryDirectory(prefix="neuron-sim-sweep-") as folder:
        chosen = base
        if changes:
            chosen = os.path.join(folder, "point.toml")
            with open(chosen, "w", encoding="utf-8") as file:
                file.write(override_file(base, changes, "point"))
        os.environ[settings.ARCHITECTURE] = chosen
        try:
            yield
        finally:
            os.environ[settings.ARCHITECTURE] = before
            if not before:  # an empty variable counts as unset
                os.environ.pop(settings.ARCHITECTURE)


def arguments_of(point: Point) -> dict[str, Value]:
    """The parameters of a point that are no architecture facts."""
    return {
        name: value
        for name, value in point.items()
        if name != ARCHITECTURE and not name.startswith(f"{ARCHITECTURE}.")
    }


def target_of(study: Study) -> Any:
    """The function of the target's file. ValueError when there is none."""
    file, _, name = study.target.rpartition(":")
    module = loaded_module(os.path.abspath(file), os.stat(file).st_mtime_ns)
    function = getattr(module, name, None)
    if not callable(function):
        raise ValueError(f"'{file}' has no function '{name}'.")
    return function


@functools.lru_cache(maxsize=8)
def loaded_module(file: str, changed: int) -> Any:
    """A Python file as a module, whose imports of `nki` are the simulator's; `changed`: its time,
    so that a later version is loaded anew. ProgramError when it fails."""
    del changed

    aliases.install(override=False)
    folder, name = os.path.split(file)
    spec = importlib.util.spec_from_file_location(os.path.splitext(name)[0], file)
    if spec is None or spec.loader is None:
        raise ValueError(f"'{file}' is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        with failures_of(file):
            spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module


def write_point_timeline(study: Study, point: Point, path: str) -> None:
    """Writes the timeline page of a point that evaluate() has timed; of several kernels, that of
    the longest. OSError."""
    with _environment, _architecture(study, point):
        kernels = _kernels(study, target_of(study), point)
        longest = max(kernels, key=lambda kernel: kernel.time()["body_us"])
        title = ", ".join(f"{name} {value}" for name, value in point.items())
        write_timeline(longest.program, path, longest.log, f"{longest.program.kernel}: {title}")


def _kernels(study: Study, function: Any, point: Point) -> Sequence[Any]:
    """The traced kernels of a point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of spills, which the figures show
        traced = _traced(function, arguments_of(point), study.inputs)
    return traced if isinstance(traced, list | tuple) else [traced]


def _kernel_figures(study: Study, function: Any, point: Point) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kernels = _kernels(study, function, point)
            figures = kernel_figures(kernels)
            if study.has_energy:
                figures |= energy_figures(kernels, study.architecture)
            return figures
    except Exception as error:  # of the chip's limits, or of the kernel's own code
        return {"error": sentence_of(error)}


def _traced(function: Any, arguments: dict[str, Value], inputs: Mapping[str, str]) -> Any:
    """What a function returns; a kernel is traced with declared arrays."""
    if not hasattr(function, "traced"):
        if inputs:
            raise ValueError("inputs are those of an NKI kernel; this function is not one.")
        return function(**arguments)
    declared = {name: declared_input(text, arguments) for name, text in inputs.items()}
    return function.traced(**declared, **accepted(function, arguments, inputs))


def accepted(
    function: Any, arguments: dict[str, Value], inputs: Mapping[str, str]
) -> dict[str, Value]:
    """The arguments that the kernel has; the others are sizes of its inputs."""
    names = inspect.signature(function.func).parameters
    sizes = {name for text in inputs.values() for name in size_names(text)}
    unknown = [name for name in arguments if name not in names and name not in sizes]
    if unknown:
        near = did_you_mean(unknown[0], [*names, *sizes])
        raise TypeError(f"kernel '{function.__name__}' has no parameter '{unknown[0]}'{near}.")
    return {name: value for name, value in arguments.items() if name in names}


class KernelFigures(NamedTuple):
    """The figures of a point with a kernel, or with several that run one after the other."""

    latency_us: float
    low_us: float
    """Where the interval begins that has most measured latencies (timeline.interval)."""
    high_us: float
    body_us: float
    bound: str
    hbm_bytes: int
    sbuf_bytes: int
    """The most per partition."""
    psum_bytes: int
    instructions: int
    passes: str
    """The compiler whose passes it went through, "none" without."""


def kernel_figures(kernels: Sequence[Any]) -> dict[str, Any]:
    """KernelFigures of traced kernels by name. TypeError for anything else."""
    if not kernels or not all(hasattr(each, "program") for each in kernels):
        raise TypeError("the function must return kernel.traced(...), or a list of those.")
    times = [each.time() for each in kernels]
    peaks = [each.program.peak_bytes for each in kernels]
    counters = [each.program.counters(log=each.log) for each in kernels]
    latency = sum(time["latency_us"] for time in times)
    low, high = interval(kind_of(times)).around(latency)
    return KernelFigures(
        latency_us=latency,
        low_us=low,
        high_us=high,
        body_us=sum(time["body_us"] for time in times),
        bound=max(times, key=lambda time: time["body_us"])["bottleneck"],
        hbm_bytes=sum(each["hbm_read_bytes"] + each["hbm_write_bytes"] for each in counters),
        sbuf_bytes=max(sbuf for sbuf, _ in peaks),
        psum_bytes=max(psum for _, psum in peaks),
        instructions=sum(time["instructions"] for time in times),
        passes=", ".join(dict.fromkeys(each.stack for each in kernels)),
    )._asdict()


def _model_figures(study: Study, point: Point) -> dict[str, Any]:
    """Those of a process of `neuron-sim model`: a device has one architecture. ModuleNotFoundError
    without torch, which every point would miss."""
    if importlib.util.find_spec("torch") is None:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")
    command = [sys.executable, "-m", "neuron_sim", "model", study.target.removeprefix(MODEL)]
    for name, value in arguments_of(point).items():
        if value is not False:
            command += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    found = subprocess.run([*command, "--json"], capture_output=True, text=True)
    if found.returncode != 0:
        lines = found.stderr.strip().splitlines() or [f"exit status {found.returncode}"]
        return {"error": lines[-1].partition(": error: ")[2] or lines[-1]}
    return flattened(json.loads(found.stdout)[0], set(arguments_of(point)))


def flattened(figures: Mapping[str, Any], parameters: set[str], prefix: str = "") -> dict[str, Any]:
    """Nested figures under dotted names; what repeats a parameter is left out."""
    flat: dict[str, Any] = {}
    for name, value in figures.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, parameters, f"{prefix}{name}.")
        elif not isinstance(value, list) and prefix + name not in parameters:
            flat[prefix + name] = value
    return flat
