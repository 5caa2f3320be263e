"""Symbols of nki.isa and of nl's operators: enumerations, what is missing, what is misspelt."""

import subprocess
import sys

import neuron_sim.neuronxcc.nki.isa as old
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.isa as new
import neuron_sim.nki.language as new_nl
import numpy as np
import pytest
from isa_harness import target
from neuron_sim.nki.isa.operators import NAMES, operator_name

NUMBERS = {
    "engine": {"unknown": 0, "tensor": 1, "scalar": 2, "gpsimd": 3, "vector": 5, "sync": 6},
    "reduce_cmd": {"idle": 0, "reset": 1, "reduce": 2, "reset_reduce": 3},
    "oob_mode": {"error": 0, "skip": 1},
    "nc_version": {"gen2": 2, "gen3": 3, "gen4": 4},
    "dma_engine": {"dma": 1, "gpsimd_dma": 2},
}


@pytest.mark.parametrize("module", [new, old, new.constants, old.constants])
@pytest.mark.parametrize("enumeration", NUMBERS)
def test_enumerations_have_the_vendor_s_numbers(module, enumeration):
    members = getattr(module, enumeration)
    numbers = {name: getattr(members, name).value for name in NUMBERS[enumeration]}
    assert numbers == NUMBERS[enumeration]


def test_modes_of_descriptors_are_numbered_as_of_their_time():
    order = ["unknown", "swdge", "hwdge", "none"]
    assert [new.dge_mode[name].value for name in order] == [0, 1, 2, 3]
    assert [old.dge_mode[name].value for name in order] == [3, 1, 2, 0]
    assert new.reduce_cmd.load_reduce.value == 4
    assert new.matmul_perf_mode.double_row.value == "double_row"


@pytest.mark.parametrize("module", [new, old])
@pytest.mark.parametrize("name", ["tensor", "vector", "scalar", "gpsimd", "unknown"])
def test_engines_have_their_older_names(module, name):
    assert getattr(module, f"{name}_engine") is getattr(module.engine, name)


def test_a_number_stands_for_the_member_that_has_it():
    def copied(dge_mode):
        @nki.jit
        def kernel(a):
            out = new_nl.ndarray((4, 5), dtype=new_nl.float32, buffer=new_nl.shared_hbm)
            new.dma_copy(dst=out, src=new_nl.load(a), dge_mode=dge_mode)
            return out

        return kernel

    a = np.ones((4, 5), np.float32)
    by_number, by_name = copied(3).traced(a).source, copied(new.dge_mode.none).traced(a).source
    assert by_number.listing() == by_name.listing()
    with pytest.raises(TypeError, match="dge_mode is 4, not a member of nki.isa.dge_mode"):
        copied(4).traced(a)


@pytest.mark.parametrize(("architecture", "number"), [("trn1", 2), ("trn2", 3), ("trn3", 4)])
def test_the_version_is_that_of_the_target(architecture, number):
    with target(architecture):
        assert new.get_nc_version() is new.nc_version(number)
        assert old.get_nc_version() is old.nc_version(number)
        assert (new.get_nc_version() >= new.nc_version.gen3) == (number >= 3)
        assert (old.get_nc_version() >= old.nc_version.gen3) == (number >= 3)


def test_what_the_vendor_has_and_we_do_not_is_named():
    with pytest.raises(AttributeError) as caught:
        new.builtin_custom_op  # noqa: B018
    assert str(caught.value) == (
        "'nki.isa.builtin_custom_op' exists at the vendor but is not there yet."
    )
    assert not hasattr(old, "_tiled_offloaded_fma")


def test_a_misspelt_name_gets_a_suggestion():
    with pytest.raises(AttributeError) as caught:
        old.tensor_scaler  # noqa: B018
    assert str(caught.value) == (
        "module 'neuronxcc.nki.isa' has no attribute 'tensor_scaler'. Did you mean 'tensor_scalar'?"
    )


def test_a_misspelt_function_of_the_language_gets_a_suggestion():
    with pytest.raises(AttributeError) as caught:
        old_nl.softmaxx  # noqa: B018
    assert str(caught.value) == (
        "module 'neuronxcc.nki.language' has no attribute 'softmaxx'. Did you mean 'softmax'?"
    )
    with pytest.raises(AttributeError) as caught:
        old_nl.gemm_grid  # noqa: B018
    assert str(caught.value) == (
        "'neuronxcc.nki.language.gemm_grid' exists at the vendor but is not there yet."
    )


def test_buffers_say_where_they_are():
    where = (new_nl.is_sbuf, new_nl.is_psum, new_nl.is_hbm, new_nl.is_on_chip)
    for buffer, expected in (
        (new_nl.sbuf, (True, False, False, True)),
        (new_nl.psum, (False, True, False, True)),
        (new_nl.shared_hbm, (False, False, True, False)),
    ):
        assert tuple(function(buffer) for function in where) == expected


def test_an_enumeration_is_not_an_integer():
    with pytest.raises(TypeError) as caught:
        new.nc_version.gen3 > 2  # noqa: B015
    assert str(caught.value) == "a nc_version is compared with 2, which is not an nc_version."


OPERATORS = {
    "add": [np.add, new_nl.add, old_nl.add, new_nl.sum],
    "maximum": [np.maximum, np.max, np.amax, new_nl.maximum, old_nl.max],
    "minimum": [np.min, new_nl.min, old_nl.minimum],
    "multiply": [np.multiply, np.prod, new_nl.multiply], "exp": [np.exp, new_nl.exp, old_nl.exp],
    "copy": [np.copy, new_nl.copy, old_nl.copy], "abs": [np.abs, abs, new_nl.abs],
    "logical_and": [np.logical_and, old_nl.logical_and, old_nl.all],
    "greater_equal": [np.greater_equal, new_nl.greater_equal], "average": [np.mean, new_nl.average],
    "rsqrt": [new_nl.rsqrt, old_nl.rsqrt], "": [None, new_nl.bypass],
}  # fmt: skip


@pytest.mark.parametrize("word", OPERATORS)
def test_functions_of_both_languages_and_of_numpy_name_operators(word):
    assert [operator_name(function) for function in OPERATORS[word]] == [word] * len(
        OPERATORS[word]
    )


@pytest.mark.parametrize("language", ["nki", "neuronxcc.nki"])
def test_copy_names_an_operator_before_any_other_is_used(language):
    code = (
        "from neuron_sim.nki.isa.operators import operator_name as name\n"
        f"import neuron_sim.{language}.language as nl; print(name(nl.copy))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "copy\n"


def test_every_operator_is_one_of_the_builder_s():
    from neuron_sim import _core

    builder = _core.Builder("operators")
    tile = builder.sbuf("tile", [4, 4])
    for word in set(NAMES.values()) - {"", "average"}:
        accepted = 0
        for emit in (
            lambda word=word: builder.tensor_scalar(tile, tile, word, 1.0),
            lambda word=word: builder.activation(tile, word, tile),
            lambda word=word: builder.tensor_tensor(tile, tile, tile, word),
        ):
            try:
                emit()
            except (ValueError, TypeError) as error:
                accepted += "is unknown" not in str(error)
            else:
                accepted += 1
        assert accepted, word


def test_importing_the_instructions_takes_neither_torch_nor_long():
    code = (
        "import sys, time; start = time.process_time(); import neuron_sim.nki.isa;"
        "import neuron_sim.nki.language.operators;"
        "print('torch' in sys.modules, time.process_time() - start)"
    )
    torch, seconds = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert torch == "False"
    assert float(seconds) < 1.0


def test_every_instruction_is_a_method_of_the_builder():
    from neuron_sim import _core

    queries = set(_core.compile_time_queries())
    methods = set(dir(_core.Builder))
    assert [name for name in _core.instructions() if name not in methods | queries] == []
