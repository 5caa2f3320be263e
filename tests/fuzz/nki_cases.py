"""Random kernels of both NKI languages: only the documented classes of errors, values as NumPy's.

A case is one kernel that calls a few functions, methods and operators with arguments that mostly
fit; the errors of single calls are caught in the kernel, which goes on.
"""

from __future__ import annotations

import enum
import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import neuron_sim.neuronxcc.nki as old_nki
import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as new_nki
import neuron_sim.nki.isa as new_nisa
import neuron_sim.nki.language as new_nl
import numpy as np
from findings import FoundError, source_of, unexpected
from neuron_sim.nki.isa import NkiValidationError
from nki_arguments import NONSENSE, Pool
from nki_values import check_value

#: docs/nki.md, "Debug a kernel"; of RuntimeError those of the languages, not of C++.
#: AssertionError, with a sentence, is the vendor's for a step of a dynamic loop.
DOCUMENTED = (ValueError, TypeError, IndexError, NotImplementedError, MemoryError, RuntimeError,
              NkiValidationError, AssertionError)  # fmt: skip
# Loops that need not end, output, and what needs several ranks or a file.
_LEFT_OUT = {"while_loop", "device_print", "builtin_custom_op"}
_OPERATORS = (operator.add, operator.mul, operator.sub, operator.truediv, operator.lt, operator.neg,
              operator.and_, operator.pow, operator.floordiv, operator.mod, operator.matmul,
              operator.invert, operator.eq, operator.index, bool, len, int, str, hash,
              iter)  # fmt: skip


@functools.cache
def _functions(old: bool) -> tuple[Callable[..., Any], ...]:
    """Everything that can be called in a language, instructions more often."""
    nl, nisa = (old_nl, old_nisa) if old else (new_nl, new_nisa)
    names = list(nl.__all__)
    import importlib

    names += importlib.import_module(f"{nl.__name__}.operators").__all__
    found = [getattr(nl, name) for name in names if name not in _LEFT_OUT]
    isa = [name for name in getattr(nisa, "__all__", dir(nisa)) if not name.startswith("_")]
    instructions = [getattr(nisa, name) for name in isa if name not in _LEFT_OUT]
    found += [each for each in instructions for _ in range(3)]
    return tuple(
        each
        for each in found
        if callable(each) and not (inspect.isclass(each) and issubclass(each, enum.Enum))
    )


def _refused(error: Exception, what: str) -> None:
    """FoundError unless the error is of a documented class and has a sentence."""
    if not isinstance(error, DOCUMENTED):
        raise FoundError(
            f"{what}: {type(error).__name__}", unexpected("nki", 0, error).text
        ) from None
    text = str(error)
    if "SimulatorBug" in text or "internal error" in text.lower() or "std::" in text:
        raise FoundError(f"{what}: an error of the simulator", text[:1000]) from None
    if not text.strip():
        raise FoundError(f"{what}: an error without a sentence", repr(error)) from None


def _name(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


def _step(pool: Pool, old: bool) -> Any:
    """One call; its result."""
    source, way = pool.source, pool.source.random()
    if way < 0.7:
        function = source.choice(_functions(old))
        positional, named = pool.arguments(function)
        what, call = _name(function), functools.partial(function, *positional, **named)
    elif way < 0.85 and pool.tensors:
        tensor = source.choice(pool.tensors)
        names = [name for name in dir(tensor) if not name.startswith("_")]
        name = source.choice(names)
        method = getattr(tensor, name, None)
        if not callable(method):
            return None
        positional, named = pool.arguments(method)
        what, call = f"tensor.{name}", functools.partial(method, *positional, **named)
    elif way < 0.92:
        function = source.choice(_OPERATORS)
        one = function in (operator.neg, operator.invert, operator.index, bool, len, int, str, hash,
                           iter)  # fmt: skip
        arguments = [pool.tensor() for _ in range(1 if one else 2)]
        if source.random() < 0.2:
            arguments[-1] = source.choice(NONSENSE)
        if not any(arguments[0] is each for each in pool.tensors):
            return None  # errors of Python's own types
        what, call = f"operator {_name(function)}", functools.partial(function, *arguments)
    else:
        tensor = pool.tensor()
        index = pool.index(tensor)
        if not any(tensor is each for each in pool.tensors):
            return None
        if source.random() < 0.5:
            value = pool.tensor()
            what, call = "assignment", functools.partial(operator.setitem, tensor, index, value)
        else:
            what, call = "index", functools.partial(operator.getitem, tensor, index)
    try:
        return call()
    except DOCUMENTED as error:
        _refused(error, f"{'old' if old else 'new'} {what}")
        return None
    except Exception as error:  # the tracer may make a documented one of it
        error.add_note(f"of {what}")
        raise


def _is_tensor(value: Any) -> bool:
    described = hasattr(value, "shape") and hasattr(value, "dtype")
    return described and not isinstance(value, np.ndarray | np.generic)


def _kernel_of(seed: int, old: bool) -> Callable[..., Any]:
    nl, nisa = (old_nl, old_nisa) if old else (new_nl, new_nisa)

    def kernel(*arrays):
        pool = Pool(source_of("nki kernel", seed), nl, nisa)
        pool.tensors += [nl.load(each) for each in arrays]
        if pool.source.random() < 0.3:
            pool.tensors += arrays
        if pool.source.random() < 0.3:
            pool.tensors.append(nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum))
        pool.tensors.append(nl.zeros((32, 16), dtype=nl.float32, buffer=nl.sbuf))
        if old:
            rows, columns = nl.arange(32)[:, None], nl.arange(16)[None, :]
            pool.others += [rows, columns]
            pool.masks += [columns < 5, rows + columns < 20, rows < 7]
        for _ in range(pool.source.randint(1, 6)):
            result = _step(pool, old)
            results = result if isinstance(result, tuple | list) else [result]
            pool.tensors += [each for each in results if _is_tensor(each)]
        out = nl.ndarray((32, 16), nl.float32, buffer=nl.shared_hbm)
        nl.store(out, pool.tensors[-1] if pool.source.random() < 0.5 else 0.0)
        return out

    return kernel


def _arrays(seed: int) -> list[np.ndarray]:
    source = source_of("nki arrays", seed)
    numbers = np.random.default_rng(source.getrandbits(63))
    arrays = []
    for _ in range(source.randint(1, 3)):
        shape = source.choice(
            [(32, 16), (32, 16), (32, 32), (128, 64), (1, 16), (32, 1), (16, 4, 8)]
        )
        dtype = source.choice([np.float32, np.float32, ml_dtypes.bfloat16, np.int32, np.uint32])
        arrays.append(numbers.uniform(0, 30, shape).astype(dtype))
    return arrays


def run_case(seed: int) -> str:
    """Traces and runs one kernel."""
    source = source_of("nki", seed)
    old = source.random() < 0.5
    nki, nl = (old_nki, old_nl) if old else (new_nki, new_nl)
    if source.random() < 0.2:
        return check_value(source, nki.jit, nl, old)
    arrays = _arrays(seed)
    language = "old" if old else "new"
    try:
        # Not through the cache of programs: the kernels of all cases are one function.
        call = nki.jit(_kernel_of(seed, old)).call(*arrays)
        result = call.trace_anew().run(call.arrays)
    except FoundError:
        raise
    except Exception as error:
        what = next((note for note in getattr(error, "__notes__", ()) if note[:3] == "of "), "")
        _refused(error, f"{language} kernel {what}".strip())
        return f"{language} kernel refused"
    if np.asarray(result).shape != (32, 16):
        raise FoundError("a kernel's result has another shape", str(np.asarray(result).shape))
    return f"{language} kernel ran"
