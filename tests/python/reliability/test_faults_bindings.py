"""Arguments of the wrong kind in both languages and in the bindings: errors that name them."""

import re

import ml_dtypes
import neuron_sim.neuronxcc.nki as old_nki
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from faults import run_apart

X = np.ones((8, 8), np.float32)


def error_of(language, body):
    """What `body(tile)` raises in a kernel of a language; None when it raises nothing."""
    lang, run = (nl, nki.jit) if language == "new" else (old_nl, old_nki.jit)

    @run
    def kernel(a):
        out = lang.ndarray(a.shape, dtype=a.dtype, buffer=lang.shared_hbm)
        tile = lang.load(a)
        body(tile)
        lang.store(out, tile)
        return out

    try:
        kernel(X)
    except Exception as error:
        return error
    return None


DTYPES = ("float32", "bfloat16", "float16", "int32", "uint8", "float8_e4m3")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", (None, "x", "1", [], {}, object(), 1j, b"1", np.array(["x"])))
def test_a_scalar_of_no_number_is_a_type_error(dtype, value):
    with pytest.raises(TypeError, match=rf"nl\.{dtype}: 'value' is of type \w+, not a number\."):
        getattr(nl, dtype)(value)
    for language in ("new", "old"):
        error = error_of(language, lambda tile: getattr(nl, dtype)(value))
        assert isinstance(error, TypeError) and "'value'" in str(error)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_scalar_of_a_number_is_that_number(dtype):
    numpy = getattr(nl, dtype).numpy
    for value in (0, 1, 3, True, np.float32(2), np.int64(7)):
        assert getattr(nl, dtype)(value) == np.asarray(value).astype(numpy)
        assert getattr(nl, dtype)(value).dtype == numpy
    array = getattr(nl, dtype)(np.array([1, 2, 3]))
    assert array.dtype == numpy and array.tolist() == [1, 2, 3]


@pytest.mark.parametrize("value", (2**70, -(2**70), 2**31, -1 - 2**31, float("nan"), float("inf")))
def test_an_integer_that_does_not_fit_is_a_value_error(value):
    with pytest.raises(ValueError, match=r"nl\.int32: 'value' is .*, which it does not hold"):
        nl.int32(value)
    assert nl.int32(2**31 - 1) == 2**31 - 1 and nl.int32(-(2**31)) == -(2**31)
    with pytest.raises(ValueError, match="nl.float32: 'value' is 1797"):
        nl.float32(int(1.7976931348623157e308) * 10)
    assert np.isnan(nl.bfloat16(float("nan"))) and nl.bfloat16(2**70) == 2.0**70
    assert nl.bfloat16(1e300) == ml_dtypes.bfloat16(float("inf"))


def test_packed_elements_have_no_scalars():
    with pytest.raises(TypeError, match="nl.float8_e4m3fn_x4: an element holds four values"):
        nl.float8_e4m3fn_x4(1)


@pytest.mark.parametrize("buffer", ("sbuf", "psum", "shared_hbm"))
@pytest.mark.parametrize("name", (5, 0, object(), [], b"x", 1.5))
@pytest.mark.parametrize("language", ("new", "old"))
def test_a_name_that_is_no_text_is_a_type_error(language, name, buffer):
    lang = nl if language == "new" else old_nl
    error = error_of(
        language,
        lambda tile: lang.ndarray((8, 8), nl.float32, buffer=getattr(lang, buffer), name=name),
    )
    assert isinstance(error, TypeError)
    assert re.search(r"'?name'?.* (of type|is a)", str(error)), error


ODD = (None, "x", object(), 5, 2**70, -1, float("nan"), [], {}, (1, 2))


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
@pytest.mark.parametrize("language", ("new", "old"))
def test_operands_that_are_no_tensors_are_errors_that_name_them(language, odd):
    lang = nl if language == "new" else old_nl
    for function in (lang.load, lang.exp, lang.transpose):
        error = error_of(language, lambda tile, f=function: f(odd))
        assert isinstance(error, (TypeError, ValueError)), f"{function}: {error!r}"


def test_the_sentence_names_function_argument_and_value():
    error = error_of("new", lambda tile: nisa.tensor_copy(dst=tile, src=5))
    assert isinstance(error, TypeError)
    assert "'tensor_copy'" in str(error) and "'src'" in str(error)
    error = error_of("new", lambda tile: nisa.dma_copy(dst=tile, src=[1]))
    assert isinstance(error, TypeError) and "'dma_copy'" in str(error) and "'src'" in str(error)
    assert any(__file__ in note for note in error.__notes__), "and the kernel's line"


def test_errors_of_the_kernel_itself_stay_as_they_are():
    error = error_of("new", lambda tile: (5).shape)
    assert type(error) is AttributeError
    error = error_of("new", lambda tile: nl.no_such_function)
    assert type(error) is AttributeError


def test_fields_that_the_simulator_relies_on_cannot_be_changed():
    for field in ("shape", "axis", "start", "partition"):
        error = error_of("new", lambda tile, f=field: setattr(tile, f, 5))
        assert isinstance(error, AttributeError), field


INDICES = (2**63, 2**64, -(2**63) - 1, 2**63 - 1, 10**30, 8, -9)


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("language", ("new", "old"))
def test_indices_beyond_the_tile_are_errors_however_large(language, index):
    lang = nl if language == "new" else old_nl
    for body in (
        lambda tile: tile[0:4, index],
        lambda tile: tile[index],
        lambda tile: tile[lang.ds(index, 2), 0:4] if index < 2**63 else tile[index],
        lambda tile: tile[0:4, 0 : max(index, 9)],
    ):
        error = error_of(language, lambda tile, b=body: lang.exp(b(tile)))
        assert isinstance(error, (IndexError, ValueError, TypeError, OverflowError)), repr(error)


# Every function and type of the bindings gets every odd argument; a crash ends the process.
BINDINGS = """
import faulthandler, itertools
faulthandler.enable()
from neuron_sim import _core
import numpy as np
import neuron_sim.nki
odd = [None, "x", b"x", object(), 5, -1, 2**70, -2**63, float("nan"), 1.5, [], (), {}, [1], (1, 2),
       {"a": 1}, np.ones((2, 2)), type, len]
names = [name for name in dir(_core) if not name.startswith("__") and name != "connect_tracing"]
made, errors = [], set()
def attempt(function, *arguments, **keywords):
    try:
        result = function(*arguments, **keywords)
    except (MemoryError, RecursionError):
        return
    except Exception as error:
        errors.add(type(error).__name__)
        return
    if type(result).__module__.startswith("neuron_sim"):
        made.append(result)
for name in names:
    value = getattr(_core, name)
    if not callable(value):
        continue
    attempt(value)
    for one in odd:
        attempt(value, one)
    for pair in itertools.product(odd[:12], repeat=2):
        attempt(value, *pair)
    for count in (3, 5, 7, 9):
        for one in odd:
            attempt(value, *[one] * count)
for each in made[:4000]:
    for name in dir(each):
        if name.startswith("__") and name not in ("__getitem__", "__add__", "__mul__", "__lt__"):
            continue
        try:
            member = getattr(each, name)
        except Exception as error:
            errors.add(type(error).__name__)
            continue
        if callable(member):
            attempt(member)
            for one in odd:
                attempt(member, one)
        else:
            for one in odd[:4]:
                try: setattr(each, name, one)
                except Exception: pass
    repr(each)
report([len(made), sorted(errors)])
"""


def test_no_argument_of_the_bindings_ends_the_process():
    made, errors = run_apart(BINDINGS).result()
    assert made > 20
    assert "SystemError" not in errors
