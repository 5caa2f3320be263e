"""neuron_sim.check: what is wrong with a kernel comes first in its part of the verdict, and the
corrected kernel passes: a loop in which a program writes kernels."""

import json

import neuron_sim
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import neuron_sim.nki.typing as nt
import numpy as np
import pytest
from neuron_sim.terminal.exit_codes import ProgramError

INPUTS = {name: nt.tensor[[128, 64], nl.float32] for name in "ab"}


def added(a, b):
    return a + b


step = nl.add  # which tests replace: closures are not legal


@nki.jit
def kernel(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, step(nl.load(a), nl.load(b)))
    return out


def by_comprehension(x, y):
    first, second = [tile for tile in (x, y) if tile is not None]
    return nl.add(first, second)


def by_raise(x, y):
    if x.shape[0] > 128:
        raise ValueError
    return nl.add(x, y)


def by_repr(x, y):
    return nl.add(x, y) if repr(x.shape) else x


def by_division(x, y):
    return nl.divide(nl.add(x, y), nl.full((128, 64), 1.0, nl.float32))


def by_difference(x, y):
    return nl.subtract(x, y)


def by_half(x, y):
    total = nl.add(x, y)
    nisa.memset(dst=total[:, 32:64], value=0.0)
    return total


def by_constant(x, y):
    return nl.full((128, 64), float(np.random.default_rng(0).standard_normal()), nl.float32)


def by_bfloat16(x, y):
    return nl.add(x, y, dtype=nl.bfloat16)


def by_garbage(x, y):
    total = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=total[:, 0:32], data1=x[:, 0:32], data2=y[:, 0:32], op=nl.add)
    return total


def by_row(x, y):
    return nl.add(x[1:2, :], y[1:2, :])


@pytest.mark.parametrize(
    ("wrong", "part", "cause"),
    [
        (by_comprehension, "legal", "PY-COMP"),
        (by_raise, "legal", "PY-RAISE"),
        (by_repr, "legal", "PY-BUILTIN"),
        (by_division, "legal", "EN-DIV"),
        (by_row, "legal", "start partition 1 of 1 partitions must be a multiple of 32"),
        (by_difference, "correct", [0, 0]),
        (by_half, "correct", [0, 32]),
        (by_constant, "correct", [0, 0]),
        (by_bfloat16, "correct", [0, 0]),
        (by_garbage, "clean", "uninitialised-read"),
    ],
)
def test_a_wrong_kernel_is_named_by_its_cause_and_the_corrected_one_passes(
    wrong, part, cause, monkeypatch
):
    monkeypatch.setitem(globals(), "step", wrong)
    tolerance = 1e-6 if wrong is by_bfloat16 else None
    result = neuron_sim.check(kernel, INPUTS, added, tolerance=tolerance)
    assert not result["passed"] and not result[part]["passed"]
    assert json.loads(json.dumps(result)) == result and result["schema"] == 1
    if part == "legal":
        first = result["legal"]["rules"][0]
        assert first["rule"] == cause or first["sentence"].startswith(cause)
        assert first["line"].startswith(__file__)
    elif part == "correct":
        place = result["correct"]["first_wrong"]
        assert place["inputs"] == "random 0"
        assert place["index"] == cause or wrong is by_bfloat16
        assert place["written_at"][0].startswith(__file__)
    else:
        assert result["clean"]["findings"][0]["rule"] == cause
    monkeypatch.setitem(globals(), "step", nl.add)
    assert neuron_sim.check(kernel, INPUTS, added, tolerance=tolerance)["passed"]


@nki.jit
def in_place(a, b):
    nl.store(a, nl.add(nl.load(a), nl.load(b)))
    return a


@nki.jit
def in_declared_place(a: nt.mutable_tensor, b):
    nl.store(a, nl.add(nl.load(a), nl.load(b)))
    return a


def test_a_right_kernel_passes_with_its_time_and_bytes():
    result = neuron_sim.check(kernel, INPUTS, added)
    assert result["passed"] and result["legal"]["rules"] == [] and result["correct"]["runs"] == 5
    speed = result["performance"]
    assert speed["hbm_bytes"] == speed["least_hbm_bytes"] == 3 * 128 * 64 * 4
    assert speed["interval_us"][0] < speed["latency_us"] < speed["interval_us"][1]


@nki.jit
def in_halves(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    total = nl.add(nl.load(a), nl.load(b))
    wrong = nl.subtract(nl.load(a), nl.load(b))
    nl.store(out, wrong)
    nl.store(out[0:96, 0:64], total[0:96, 0:64])
    for i in range(2):
        nl.store(out[96:128, i * 32 : i * 32 + 16], total[96:128, i * 32 : i * 32 + 16])
    return out


def test_a_wrong_element_is_traced_to_the_instruction_that_wrote_it_last():
    first, lines = in_halves.func.__code__.co_firstlineno, []
    for expected in (added, lambda a, b: a - b):
        place = neuron_sim.check(in_halves, INPUTS, expected)["correct"]["first_wrong"]
        lines.append(
            (place["index"], [int(at.split(":")[1]) - first for at in place["written_at"]])
        )
    assert lines == [([96, 16], [5]), ([0, 0], [6])]


def test_an_input_that_is_overwritten_and_returned_is_a_cheat():
    result = neuron_sim.check(in_place, INPUTS, added)
    assert result["correct"]["first_wrong"] is None and not result["passed"]
    assert result["correct"]["cheats"] == [
        "input 'a' is overwritten",
        "output 0 is the memory of input 'a'",
    ]
    assert neuron_sim.check(in_declared_place, INPUTS, added)["passed"]


@pytest.mark.parametrize(("dtype", "error"), [(nl.bfloat16, 2**-9), (nl.int32, 0)])
def test_the_tolerance_is_that_of_the_dtype_of_the_output(dtype, error):
    inputs = {name: nt.tensor[[128, 64], dtype] for name in "ab"}
    assert neuron_sim.check(kernel, inputs, added)["passed"]
    off = neuron_sim.check(kernel, inputs, lambda a, b: (a + b) * (1 + 20 * error) + (error == 0))
    assert not off["correct"]["passed"]


def test_a_result_of_another_shape_or_number_is_told():
    flat = neuron_sim.check(kernel, INPUTS, lambda a, b: (a + b).ravel())
    assert flat["correct"]["first_wrong"]["sentence"] == "shape [128, 64], not [8192]"
    two = neuron_sim.check(kernel, INPUTS, lambda a, b: (a, b))
    assert two["correct"]["first_wrong"]["sentence"] == "1 outputs, not 2"


def test_without_a_reference_nothing_is_called_correct():
    result = neuron_sim.check(kernel, INPUTS)
    assert result["correct"] is None and result["passed"]


@pytest.mark.parametrize("dtype", [nl.float16, nl.float8_e5m2])
def test_what_the_output_cannot_hold_is_infinite_in_both(dtype):
    inputs = {name: np.full((128, 64), 3e4, dtype.numpy) for name in "ab"}
    inputs["a"][3, 5] = inputs["b"][3, 5] = np.finfo(np.float16).max
    assert neuron_sim.check(kernel, inputs, added)["passed"]
    off = neuron_sim.check(kernel, inputs, lambda a, b: np.minimum(a + b, 1e4))
    assert off["correct"]["first_wrong"]["index"] == [0, 0]


ARRAY = np.ones((128, 64), np.float32)


@pytest.mark.parametrize("given, sentence", [
    ({"kernel": added}, "check takes an NKI kernel, not 'added': it judges no other work."),
    ({"kernel": None}, "check takes an NKI kernel, not 'NoneType': it judges no other work."),
    ({"kernel": 3}, "check takes an NKI kernel, not 'int': it judges no other work."),
    ({"kernel": lambda a: a}, "check takes an NKI kernel, not '<lambda>': it judges no other"),
    ({"inputs": [ARRAY, ARRAY]}, "check takes a dict of inputs by parameter, not 'list'."),
    ({"inputs": None}, "check takes a dict of inputs by parameter, not 'NoneType'."),
    ({"inputs": "ab"}, "check takes a dict of inputs by parameter, not 'str'."),
    ({"inputs": {1: ARRAY}}, "check takes inputs by the name of a parameter, not by 1."),
    ({"inputs": {"a": ARRAY}}, "kernel 'kernel(a, b)': missing a required argument: 'b'."),
    ({"inputs": dict.fromkeys("abc", ARRAY)}, "got an unexpected keyword argument 'c'."),
    ({"inputs": {"a": nt.tensor, "b": ARRAY}}, "input 'a' is declared without a dtype"),
    ({"inputs": {"a": nt.tensor[[0, 64], nl.float32], "b": ARRAY}},
        "kernel 'kernel': input 'a' of shape [0, 64] has no elements."),
    ({"inputs": {"a": nt.tensor[[-1], nl.float32], "b": ARRAY}},
        "input 'a' has shape [-1], but sizes are whole numbers of at least 0."),
    ({"inputs": {"a": nt.tensor[[1.5], nl.float32], "b": ARRAY}}, "has shape [1.5], but sizes"),
    ({"inputs": {"a": np.array(["x"]), "b": ARRAY}}, "input 'a': dtype '<U1' is not supported"),
    ({"reference": 3}, "the reference is a function, not 'int'."),
    ({"legality": "none"}, "legality is 'none'; it must be compiler or documented or warn or off."),
    ({"seeds": ()}, "the seeds are (), but must be a list of one or more whole numbers of at"),
    ({"seeds": 3}, "the seeds are 3, but must be a list"),
    ({"seeds": [0, -1]}, "the seeds are [0, -1], but must be a list"),
    ({"seeds": "01"}, "the seeds are '01', but must be a list"),
    ({"tolerance": -0.1}, "the tolerance is -0.1, but must be a number of at least 0."),
    ({"tolerance": float("nan")}, "the tolerance is nan, but must be"),
    ({"tolerance": "1"}, "the tolerance is '1', but must be"),
])  # fmt: skip
def test_an_argument_that_is_no_use_is_refused_in_a_sentence(given, sentence):
    given = {"kernel": kernel, "inputs": INPUTS, "reference": added, **given}
    with pytest.raises((TypeError, ValueError)) as caught:
        neuron_sim.check(**given)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_a_reference_that_fails_is_an_error():
    with pytest.raises(ProgramError, match="^the reference: "):
        neuron_sim.check(kernel, INPUTS, lambda a, b: a @ b)
