"""Arguments for functions of both NKI languages: what they are for by their names, or nonsense."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

NONSENSE: tuple[Any, ...] = (
    None, "x", "", "float32", b"y", 0, -1, 1, 7, 128, 129, 2**31, 2**63, -(2**63), 2**70, 1.5,
    float("nan"), float("inf"), 1e300, True, False, (), [], {}, [1, 2], (3, "a"), {"a": 1}, 1j,
    object, len, np.float32, np.int64(3), np.zeros((2, 3), np.float32), np.zeros(0), slice(0, 4),
    Ellipsis, range(3), ml_dtypes.bfloat16, np.dtype("complex64"), NotImplemented,
)  # fmt: skip
# Shares of arguments that are nonsense, and of optional ones that are given.
NONSENSE_SHARE = 0.1
OPTIONAL_SHARE = 0.3
_FLAGS = ("accumulate", "negate", "keepdims", "is_transpose", "reverse0", "reverse1", "reverse",
          "transpose_x", "reverse_pred", "unique_indices", "is_stationary_onezero")  # fmt: skip


class Pool:
    """What a kernel has made so far, to choose arguments from."""

    def __init__(self, source: random.Random, nl: Any, nisa: Any) -> None:
        self.source, self.nl, self.nisa = source, nl, nisa
        self.tensors: list[Any] = []
        self.masks: list[Any] = []
        self.others: list[Any] = []
        self.operators = [nl.add, nl.multiply, nl.subtract, nl.maximum, nl.minimum, nl.equal,
                          nl.exp, nl.relu, np.add, np.multiply, np.max, "add"]  # fmt: skip
        self.dtypes = [nl.float32, nl.bfloat16, nl.int32, nl.uint8, nl.float16, np.float32,
                       "bfloat16", nl.uint32]  # fmt: skip
        self.engines = [nisa.vector_engine, nisa.scalar_engine, nisa.gpsimd_engine,
                        nisa.unknown_engine, nisa.tensor_engine]  # fmt: skip
        self.buffers = [nl.sbuf, nl.psum, nl.shared_hbm, nl.hbm]

    def number(self) -> Any:
        return self.source.choice([0, 1, 2, -1, 3, 0.5, 1.0, -2.0, 16, 100])

    def tensor(self) -> Any:
        """One that is there, a part of it, or nothing better than a number."""
        if not self.tensors or self.source.random() < 0.05:
            return self.number()
        tensor = self.source.choice(self.tensors[-8:])
        if self.source.random() < 0.3:
            try:
                return tensor[self.index(tensor)]
            except (ValueError, TypeError, IndexError, NotImplementedError):
                return tensor
        return tensor

    def index(self, tensor: Any) -> Any:
        """Slices, numbers, index tensors; some beyond the end, some nonsense."""
        items: list[Any] = []
        for size in getattr(tensor, "shape", (4, 4)):
            way = self.source.random()
            if way < 0.6:
                low = self.source.randint(0, max(0, int(size) - 1))
                high = self.source.randint(low, int(size) + (1 if way < 0.03 else 0))
                items.append(slice(low, high, self.source.choice([None, None, 1, 2])))
            elif way < 0.75:
                items.append(self.source.randint(-1, int(size)))
            elif way < 0.85 and self.others:
                items.append(self.source.choice(self.others))
            elif way < 0.95:
                items.append(slice(None))
            else:
                items.append(self.source.choice(NONSENSE))
        if self.source.random() < 0.1:
            items = items[:-1] or [None]
        return tuple(items) if len(items) != 1 else items[0]

    def shape(self) -> Any:
        return tuple(
            self.source.choice([1, 2, 3, 4, 8, 16, 32, 128, 129, 0])
            for _ in range(self.source.choice([1, 2, 2, 2, 3]))
        )

    def argument(self, name: str) -> Any:
        if self.source.random() < NONSENSE_SHARE:
            return self.source.choice(NONSENSE)
        if name == "mask" or "predicate" in name and self.source.random() < 0.3:
            return self.source.choice([*self.masks, None])
        if name in ("op", "op0", "op1", "reduce_op", "cmp_op", "np_func", "comp_op0", "comp_op1"):
            return self.source.choice(self.operators)
        if "dtype" in name:
            return self.source.choice(self.dtypes)
        if "engine" in name:
            return self.source.choice(self.engines)
        if name == "buffer":
            return self.source.choice(self.buffers)
        if name in ("axis", "axes", "dim", "dimension"):
            return self.source.choice([1, 0, -1, 2, (1,), [1], (1, 2), [1, 2], [0]])
        if name in ("shape", "tile_size", "tile_position", "pattern", "newshape"):
            return self.shape() if name != "pattern" else [[1, self.source.randint(1, 8)]]
        if name in _FLAGS:
            return self.source.random() < 0.5
        if name in ("value", "scale", "bias", "operand0", "operand1", "fill_value", "imm", "offset",
                    "n", "start", "stop", "step", "size", "prob", "seed"):  # fmt: skip
            return self.number() if self.source.random() < 0.6 else self.tensor()
        return self.tensor()

    def arguments(self, function: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and named arguments of a call."""
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (ValueError, TypeError):
            return [self.tensor() for _ in range(self.source.randint(0, 3))], {}
        positional, named = [], {}
        for each in parameters:
            if each.kind is each.VAR_KEYWORD:
                continue
            if each.kind is each.VAR_POSITIONAL:
                positional += [self.tensor() for _ in range(self.source.randint(0, 2))]
                continue
            if each.default is each.empty:
                if each.kind is each.KEYWORD_ONLY:
                    named[each.name] = self.argument(each.name)
                elif not named:
                    positional.append(self.argument(each.name))
            elif self.source.random() < OPTIONAL_SHARE:
                named[each.name] = self.argument(each.name)
        if self.source.random() < 0.02:
            named["nonsense"] = 1
        if self.source.random() < 0.02 and positional:
            positional.pop()
        return positional, named
