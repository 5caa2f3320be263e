"""The cache of programs: what a kernel reads decides which program it gets."""

import builtins
import enum
import math
import os
import sys
import types

import cache_harness
import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from cache_harness import (
    ARRAY,
    CONFIG,
    PURE_KERNELS,
    TABLE,
    A,
    Config,
    Mode,
    Thawed,
    assert_kept,
    counted,
    emit,
    empty_cache,  # noqa: F401 - a fixture
    helper,
)

HARNESS = vars(cache_harness)


@pytest.mark.parametrize("first, second", [(1, 1.0), (0.0, -0.0), (True, 1), (2, 3)])
def test_equal_arguments_of_other_types_are_other_arguments(first, second):
    kernel = nki.jit(lambda a, value: emit(a, math.copysign(2.0, value) + isinstance(value, int)))
    kernel(A, first)
    counts, _ = counted(kernel, A, second)
    assert counts[:2] == (0, 1)


def test_shapes_dtypes_grids_and_architectures_are_parts_of_the_key(monkeypatch):
    @old.jit
    def kernel(a):
        out = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
        old_nl.store(out, old_nl.load(a) * (old_nl.num_programs(0) + 1))
        return out

    assert counted(kernel, A)[0] == (0, 1, 0)
    assert counted(kernel, A[:2])[0] == (0, 1, 0)
    assert counted(kernel, A.astype(np.float16))[0] == (0, 1, 0)
    assert counted(kernel[1], A)[0] == (0, 1, 0)
    assert counted(kernel[2], A)[0] == (0, 1, 0)
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn1")
    counts, traced = counted(kernel.traced, A)
    assert counts == (0, 1, 0) and traced.architecture == "trn1"


def test_the_environment_is_a_part_of_the_key(monkeypatch):
    kernel = nki.jit(lambda a: emit(a, float(os.environ.get("NKI_TEST_FACTOR", "2"))))
    assert_kept(kernel, A, factor=2.0)
    monkeypatch.setenv("NKI_TEST_FACTOR", "5")
    assert_kept(kernel, A, factor=5.0)


def test_names_of_functions_and_classes_are_parts_of_the_key():
    def inner():
        return 2.0

    class Named:
        pass

    kernel = nki.jit(lambda a: emit(a, float(len(inner.__name__ + Named.__name__))))
    assert_kept(kernel, A, factor=10.0)
    inner.__name__ = "other_name"
    assert_kept(kernel, A, factor=15.0)
    Named.__name__ = "Othername"
    assert_kept(kernel, A, factor=19.0)


def test_values_of_flags_without_a_name_are_parts_of_the_key():
    """IntFlag(8) and IntFlag(16) are of one class, and neither has a name."""

    class Bits(enum.IntFlag):
        FIRST = 1

    bits = [Bits(8)]
    kernel = nki.jit(lambda a: emit(a, float(bits[0].value)))
    assert_kept(kernel, A, factor=8.0)
    bits[0] = Bits(16)
    assert_kept(kernel, A, factor=16.0)


def change_global(monkeypatch):
    monkeypatch.setitem(HARNESS, "FACTOR", 11.0)


def change_container(monkeypatch):
    monkeypatch.setitem(TABLE, "factor", [1.0, (11.0, 0.0)])


def change_array(monkeypatch):
    changed = ARRAY.copy()
    changed[1] = 11.0
    monkeypatch.setitem(HARNESS, "ARRAY", changed)


def change_class(monkeypatch):
    monkeypatch.setattr(Config, "factor", 10.0)


def change_property(monkeypatch):
    monkeypatch.setattr(Config, "total", property(lambda self: 11.0))


def change_object(monkeypatch):
    monkeypatch.setattr(CONFIG, "offset", 9.0)


def change_default(monkeypatch):
    monkeypatch.setattr(helper, "__defaults__", (5.5,))


def change_code(monkeypatch):
    monkeypatch.setattr(helper, "__code__", (lambda value, scale: 11.0).__code__)


def change_helper(monkeypatch):
    monkeypatch.setitem(HARNESS, "helper", lambda value: 11.0)


def change_inner_helper(monkeypatch):
    monkeypatch.setitem(HARNESS, "even", lambda count: 7.0)


def change_builtin(monkeypatch):
    monkeypatch.setattr(builtins, "max", lambda *values: 11)


def shadow_builtin(monkeypatch):
    monkeypatch.setitem(HARNESS, "float", lambda value: 11.0)


def change_numpy(monkeypatch):
    monkeypatch.setattr(np, "prod", lambda values: 11)


def change_factory(monkeypatch):
    monkeypatch.setattr(Thawed, "__init__", lambda self: setattr_of(self))


def setattr_of(thawed):
    thawed.factors = [7.0]


CHANGES = [
    ("global", change_global, 11.0), ("containers", change_container, 11.0),
    ("array", change_array, 11.0), ("object", change_class, 11.0),
    ("object", change_property, 11.0), ("object", change_object, 11.0),
    ("helper", change_default, 11.0), ("helper", change_code, 11.0),
    ("helper", change_helper, 11.0), ("recursion", change_inner_helper, 11.0),
    ("builtins", change_builtin, 11.0), ("builtins", shadow_builtin, 11.0),
    ("numpy", change_numpy, 11.0), ("dataclass", change_factory, 11.0),
]  # fmt: skip


@pytest.mark.parametrize("name, change, factor", CHANGES, ids=lambda value: getattr(
    value, "__name__", None))  # fmt: skip
def test_a_change_of_what_a_kernel_reads_makes_another_program(monkeypatch, name, change, factor):
    function, before = PURE_KERNELS[name]
    kernel = nki.jit(function)
    assert_kept(kernel, A, factor=before)
    with monkeypatch.context() as patch:
        change(patch)
        for _ in range(2):
            assert np.array_equal(kernel(A), A * np.float32(factor))
    assert np.array_equal(kernel(A), A * np.float32(before))


def test_an_array_that_is_changed_in_place_makes_another_program():
    table = np.array([2.0])
    kernel = nki.jit(lambda a: emit(a, float(table[0])))
    assert_kept(kernel, A, factor=2.0)
    table[0] = 3.0
    assert_kept(kernel, A, factor=3.0)


def test_a_constant_of_a_module_makes_another_program():
    module = types.ModuleType("constants_of_a_test")
    module.inner = types.ModuleType("inner")
    module.inner.FACTOR = 2.0
    kernel = nki.jit(lambda a: emit(a, module.inner.FACTOR))
    assert_kept(kernel, A, factor=2.0)
    module.inner.FACTOR = 3.0
    assert_kept(kernel, A, factor=3.0)
    module.inner = types.SimpleNamespace(FACTOR=4.0)
    assert np.array_equal(kernel(A), A * 4)


def test_a_name_that_a_kernel_imports_makes_another_program(monkeypatch):
    module = types.ModuleType("constants_of_a_test")
    module.FACTOR = 2.0
    monkeypatch.setitem(sys.modules, "constants_of_a_test", module)

    @nki.jit
    def kernel(a):
        import constants_of_a_test as constants
        from constants_of_a_test import FACTOR as factor

        return emit(a, (lambda: factor * constants.FACTOR)())

    assert_kept(kernel, A, factor=4.0)
    module.FACTOR = 3.0
    assert_kept(kernel, A, factor=9.0)
    other = types.ModuleType("constants_of_a_test")
    other.FACTOR = 1.0
    monkeypatch.setitem(sys.modules, "constants_of_a_test", other)
    assert_kept(kernel, A, factor=1.0)


def test_a_closure_that_changes_makes_another_program():
    factor = 2.0
    kernel = nki.jit(lambda a: emit(a, factor))
    assert_kept(kernel, A, factor=2.0)
    factor = 3.0
    assert_kept(kernel, A, factor=3.0)


def test_a_name_that_is_defined_later_makes_another_program(monkeypatch):
    @nki.jit
    def kernel(a):
        try:
            return emit(a, LATER)
        except NameError:
            return emit(a, 2.0)

    assert_kept(kernel, A, factor=2.0)
    monkeypatch.setitem(globals(), "LATER", 3.0)
    assert_kept(kernel, A, factor=3.0)


def test_a_patched_instruction_makes_another_program(monkeypatch):
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.load(a)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
        nl.store(out, tile)
        return out

    assert_kept(kernel, A, factor=2.0)
    real, seen = nisa.tensor_scalar, []

    def recording(**arguments):
        seen.append(arguments["operand0"])
        return real(**{**arguments, "operand0": 3.0})

    with monkeypatch.context() as patch:
        patch.setattr(nisa, "tensor_scalar", recording)
        for _ in range(2):
            assert np.array_equal(kernel(A), A * 3)
    assert seen == [2.0, 2.0]
    assert np.array_equal(kernel(A), A * 2)


def test_a_patch_inside_the_language_makes_another_program(monkeypatch):
    from neuron_sim.nki.lowering import movement

    kernel = nki.jit(emit)
    assert_kept(kernel, A, 2.0, factor=2.0)
    calls = []
    real = movement.dma
    monkeypatch.setattr(movement, "dma", lambda *args, **kw: calls.append(1) or real(*args, **kw))
    assert counted(kernel, A, 2.0)[0] == (0, 1, 0)


def test_an_attribute_of_a_member_of_an_enumeration_makes_another_program(monkeypatch):
    kernel = nki.jit(lambda a: emit(a, Mode.FAST.factor))
    monkeypatch.setattr(Mode.FAST, "factor", 2.0, raising=False)
    assert_kept(kernel, A, factor=2.0)
    monkeypatch.setattr(Mode.FAST, "factor", 3.0)
    assert_kept(kernel, A, factor=3.0)


def first_of_all(*named):
    return next(iter({*named}))


def first_beside_a_constant(*named):
    held = {0}
    held.update(named)
    return next(each for each in held if each != 0)


@pytest.mark.parametrize("first", [first_of_all, first_beside_a_constant])
def test_the_order_of_a_set_makes_another_program(first):
    class Named:
        def __init__(self, factor):
            self.factor = factor

        def __repr__(self):
            return "a name"

    def kernel(a, *named):
        return emit(a, first(*named).factor)

    kernel = nki.jit(kernel)
    for _ in range(20):
        named = [Named(2.0), Named(3.0)]
        expected = first(*named).factor
        assert np.array_equal(kernel(A, *named), A * expected)
        del named


def test_values_that_are_one_object_are_told_from_equal_ones():
    first, second = [1.0], [1.0]

    def grown():
        first.append(2.0)
        total = sum(second)
        first.pop()
        return total

    kernel = nki.jit(lambda a: emit(a, grown()))
    assert np.array_equal(kernel(A), A)
    second = first
    assert np.array_equal(kernel(A), A * 3)


def test_an_address_in_a_text_makes_another_program():
    class Named:
        pass

    kernel = nki.jit(lambda a, named: emit(a, float(len(f"{named}") > 0)))
    first, second = Named(), Named()
    assert_kept(kernel, A, first, factor=1.0)
    assert counted(kernel, A, second)[0] == (0, 1, 0)
