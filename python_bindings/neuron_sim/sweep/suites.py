"""Kernels in the layouts of public suites, judged on the device, with simulated times.

KernelBench: a problem is a file with `Model`, `get_inputs` and `get_init_inputs`, a candidate one
with `ModelNew`. BackendBench: a folder has `OP/OP_implementation*.py` with `OP_kernel_impl`.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils import _pytree

from neuron_sim.nki.check.comparison import TOLERANCES, difference
from neuron_sim.settings import device_name
from neuron_sim.terminal.exit_codes import failures_of, sentence_of

from .point import loaded_module


class Case(NamedTuple):
    """The two functions of one run, on the CPU and on the device, and their arguments."""

    name: str
    reference: Callable[..., Any]
    candidate: Callable[..., Any]
    arguments: tuple
    keywords: dict[str, Any]


def judge_problem(
    problem: str, candidate: str, *, seeds: Sequence[int] = (0, 1), tolerance: float | None = None
) -> dict[str, Any]:
    """The verdict on a KernelBench candidate, as _verdict() returns it. Both models are made with
    the same seed, hence with equal weights. ValueError for a file that lacks a name."""
    names = ("Model", "get_inputs", "get_init_inputs")
    model, inputs, settings = (_named(problem, name) for name in names)
    made = _named(candidate, "ModelNew")

    def seeded(seed: int, make: Any) -> Any:
        torch.manual_seed(seed)
        return make(*settings()).eval()

    def cases() -> Iterator[Case]:
        for seed in seeds:
            with failures_of("the problem"):
                reference = seeded(seed, model)
                arguments = tuple(inputs())
            yield Case(
                f"seed {seed}",
                reference,
                lambda *given, seed=seed: seeded(seed, made).to(device_name())(*given),
                arguments,
                {},
            )

    return _verdict(Path(problem).stem, cases(), tolerance)


def judge_operators(folder: str, *, tolerance: float | None = None) -> list[dict[str, Any]]:
    """The verdict on each operator of a BackendBench folder, by name, for PyTorch's own samples of
    fp32 inputs. ValueError for a folder without operators, and for one that PyTorch lacks."""
    from torch.testing._internal.common_methods_invocations import op_db  # takes seconds

    known: dict[str, Any] = {}
    for entry in op_db:
        known.setdefault(entry.name.rpartition(".")[2], entry)
    results = []
    for place in sorted(Path(folder).iterdir()):
        files = sorted(place.glob(f"{place.name}_implementation*.py"))
        if not files:
            continue
        if place.name not in known:
            raise ValueError(f"PyTorch has no samples of an operator '{place.name}'.")
        kernel, entry = _named(str(files[0]), f"{place.name}_kernel_impl"), known[place.name]
        samples = entry.sample_inputs("cpu", torch.float32)
        cases = (
            Case(f"sample {i}", entry.op, kernel, (sample.input, *sample.args), dict(sample.kwargs))
            for i, sample in enumerate(samples)
        )
        results.append(_verdict(place.name, cases, tolerance))
    if not results:
        raise ValueError(f"'{folder}' has no folder OP with a file OP_implementation*.py.")
    return results


def _named(file: str, name: str) -> Any:
    path = os.path.abspath(file)
    function = getattr(loaded_module(path, os.stat(path).st_mtime_ns), name, None)
    if not callable(function):
        raise ValueError(f"'{file}' has no '{name}'.")
    return function


def _verdict(name: str, cases: Iterable[Case], tolerance: float | None) -> dict[str, Any]:
    """name, passed, runs, first_wrong as in the verdict on a kernel (None when all is right),
    cheats, latency_us (simulated, of the first run that ended; else None)."""
    first_wrong, latency, runs = None, None, 0
    cheats: list[str] = []
    for case in cases:
        runs += 1
        given = _moved((case.arguments, case.keywords), device_name())
        with failures_of("the reference"), torch.no_grad():
            expected = case.reference(*_copied(case.arguments), **_copied(case.keywords))
        wrong, before = None, torch.neuron_sim.simulated_time()
        try:
            with torch.no_grad():
                got = case.candidate(*given[0], **given[1])
            torch.neuron_sim.synchronize()
        except Exception as error:  # of the candidate
            wrong = {"output": None, "sentence": sentence_of(error)}
        else:
            if latency is None:
                latency = (torch.neuron_sim.simulated_time() - before) * 1e6
            wrong = _difference(got, expected, tolerance)
            after = _moved(given, "cpu")
            if _arrays(after) and difference(_arrays(after), _arrays(case[3:]), 0) is not None:
                cheats = ["an input is overwritten"]
        first_wrong = first_wrong or (wrong and {"inputs": case.name, **wrong})
    passed = first_wrong is None and not cheats and runs > 0
    return {"name": name, "passed": passed, "runs": runs, "first_wrong": first_wrong,
            "cheats": cheats, "latency_us": latency}  # fmt: skip


def _difference(got: Any, expected: Any, tolerance: float | None) -> dict[str, Any] | None:
    wanted = [leaf for leaf in _pytree.tree_flatten(expected)[0] if torch.is_tensor(leaf)]
    sizes = [tensor.itemsize for tensor in wanted if tensor.is_floating_point()]
    by_dtype = TOLERANCES[min(*sizes, 4)] if sizes else None
    return difference(_arrays(got), _arrays(expected), by_dtype if tolerance is None else tolerance)


def _arrays(value: Any) -> list[np.ndarray]:
    """The tensors in a structure as arrays; floats that NumPy lacks as fp32."""
    leaves = _pytree.tree_flatten(value)[0]
    tensors = [leaf.detach().cpu() for leaf in leaves if torch.is_tensor(leaf)]
    return [
        (tensor.float() if tensor.is_floating_point() and tensor.itemsize < 4 else tensor).numpy()
        for tensor in tensors
    ]


def _moved(value: Any, device: str) -> Any:
    def moved(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().clone().to(device)

    return _pytree.tree_map_only(torch.Tensor, moved, value)


def _copied(value: Any) -> Any:
    return _pytree.tree_map_only(torch.Tensor, torch.clone, value)
