"""Kernels for the tests of the cache of programs, and how calls of it are counted."""

import dataclasses
import enum
import functools
import math
import os

import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from neuron_sim.nki.launch import program_cache

A = np.arange(12, dtype=np.float32).reshape(3, 4)


def emit(a, factor):
    """What the kernels here compute: a * factor, where `factor` is a number of the trace."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(a) * factor)
    return out


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)  # differs between phases of a test
    program_cache.clear()
    kernel = nki.jit(emit)
    kernel(A, 1.0)  # loads what the languages load on first use
    assert nl.multiply  # and the operators
    program_cache.clear()


def counted(function, *args):
    """(hits, misses, refusals) of a call, and its result."""
    before = program_cache.info()
    result = function(*args)
    after = program_cache.info()
    return tuple(after[key] - before[key] for key in ("hits", "misses", "refusals")), result


def assert_kept(kernel, *args, factor):
    """The second call is a hit and gives the same bytes."""
    expected = A * np.float32(factor)
    assert np.array_equal(kernel(*args), expected)
    counts, found = counted(kernel, *args)
    assert counts == (1, 0, 0), program_cache.info()["last_refusal"]
    assert np.array_equal(found, expected)


def assert_never_kept(kernel, *args):
    for _ in range(3):
        counts, _ = counted(kernel, *args)
        assert counts[0] == 0


FACTOR = 3.0
TABLE = {"factor": [1.0, (5.0, 6.0)]}
ARRAY = np.array([1.0, 8.0])


class Config:
    factor = 2.0

    def __init__(self, offset):
        self.offset = offset

    @property
    def total(self):
        return self.factor + self.offset

    @staticmethod
    def doubled(value):
        return value * 2

    @classmethod
    def made(cls, offset):
        return cls(offset)


CONFIG = Config(1.0)


@dataclasses.dataclass(frozen=True)
class Frozen:
    factor: float = 2.0
    shape: tuple = (1, 2)


@dataclasses.dataclass
class Thawed:
    factors: list = dataclasses.field(default_factory=lambda: [4.0])


FROZEN, THAWED = Frozen(7.0), Thawed()


class Mode(enum.Enum):
    SLOW = 1
    FAST = 2


class Settings(nl.NKIObject):
    factor: float = 2.0


def helper(value, scale=2.0):
    return value * scale


def recursive(count):
    return 1.0 if count == 0 else 1.0 + recursive(count - 1)


def even(count):
    return count == 0 or odd(count - 1)


def odd(count):
    return count > 0 and even(count - 1)


class Context:
    def __enter__(self):
        return FACTOR

    def __exit__(self, *error):
        return None


def syntax_of_many_kinds(a, *rest, **options):
    match (FACTOR, [1.0]):
        case (float() as first, [*others]) if first:
            del others[0]
    try:
        assert not others, "none are left"
    except AssertionError as error:
        raise ValueError from error
    finally:
        table = {key: each for key, *each in ((1, 2),) if (kept := key)}
    with Context() as value:
        nested = lambda *values, scale=FACTOR: sum(values) * scale / kept  # noqa: E731
    return emit(a, nested(*(value, *table[1])))


PURE_KERNELS = {
    "syntax": (syntax_of_many_kinds, 15.0),
    "constant": (lambda a: emit(a, 2.5), 2.5),
    "global": (lambda a: emit(a, FACTOR), 3.0),
    "containers": (lambda a: emit(a, TABLE["factor"][1][0]), 5.0),
    "array": (lambda a: emit(a, float(ARRAY[1])), 8.0),
    "object": (lambda a: emit(a, CONFIG.total), 3.0),
    "class": (lambda a: emit(a, Config.made(2.0).total + Config.doubled(1.0)), 6.0),
    "frozen dataclass": (lambda a: emit(a, FROZEN.factor + Frozen().factor), 9.0),
    "dataclass": (lambda a: emit(a, THAWED.factors[0] + Thawed().factors[0]), 8.0),
    "enum": (lambda a: emit(a, 2.0 if Mode(2) is Mode.FAST else 1.0), 2.0),
    "fields": (lambda a: emit(a, Settings(factor=6.0).factor), 6.0),
    "helper": (lambda a: emit(a, helper(2.0)), 4.0),
    "recursion": (lambda a: emit(a, recursive(3) + odd(3)), 5.0),
    "comprehension": (lambda a: emit(a, sum(i * FACTOR for i in range(3))), 9.0),
    "builtins": (lambda a: emit(a, float(max(len(a.shape), int(math.sqrt(9.0))))), 3.0),
    "numpy": (lambda a: emit(a, float(np.prod(np.array([2, 3])))), 6.0),
    "partial": (lambda a: emit(a, functools.partial(helper, scale=3.0)(1.0)), 3.0),
    "environment": (lambda a: emit(a, 2.0 if "NO_SUCH_NAME" in os.environ else 3.0), 3.0),
    "text": (lambda a: emit(a, float(f"{FACTOR}")), 3.0),
}
