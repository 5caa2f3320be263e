"""Simulated time of each instruction of nki.isa against the documented formulas of its function."""

import neuron_sim.neuronxcc.nki as old_nki
import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import pytest
from isa_functions import entries
from isa_functions.function import ARCHITECTURES
from isa_functions.tiles import old_wide, wide
from isa_harness import target

COSTS = entries("costs")
BODIES = {name: cost.old_body for name, cost in COSTS.items() if cost.old_body}

#: GHz, of the architecture guides.
CLOCKS = {
    "Vector": {"trn1": 1.12, "trn2": 0.96, "trn3": 1.2},
    "Scalar": {"trn1": 1.4, "trn2": 1.2, "trn3": 1.2},
    "GpSimd": {"trn1": 1.4, "trn2": 1.2, "trn3": 1.2},
}

#: Cycles until the first element: "about 60" of an access (Vector, Scalar), "about 150" of GpSimd.
START = {"Vector": 60, "Scalar": 60, "GpSimd": 150}
START_TOLERANCE = 6

FEW, MANY = 256, 512  # elements per partition
FIRST_ENGINE_STEPS = ("step", "transfer")


def steps_of(instruction, body, n, architecture, language="new", cores=1):
    """The steps of the instruction that a kernel emits with body(n)."""
    jit, words = (nki.jit, nl) if language == "new" else (old_nki.jit, old_nl)

    @jit
    def kernel():
        out = words.ndarray((1, 1), dtype=words.float32, buffer=words.shared_hbm)
        result = body(n)
        if language == "old":
            if result is not None:
                result.settle()
            words.store(out, words.ndarray((1, 1), dtype=words.float32, buffer=words.sbuf))
        return out

    with target(architecture):
        kernel = kernel[cores] if cores > 1 else kernel
        steps = kernel.traced().source.steps()
    found = [each for each in steps if each["instruction"] == instruction]
    return [each for each in found if each["kind"] in FIRST_ENGINE_STEPS]


def nanoseconds(steps):
    """Time that the engine is busy with the steps."""
    return sum(each["end_ns"] - each["start_ns"] for each in steps)


def cycles_of(name, body, n, architecture, language="new"):
    """Cycles of the documented engine's clock."""
    cost = COSTS[name]
    steps = steps_of(name.split()[0], body, n, architecture, language)
    assert {each["engine"] for each in steps} == {cost.engine}
    return nanoseconds(steps) * CLOCKS[cost.engine][architecture]


def check(name, body, architecture, language):
    """Cycles per element exactly, the engine's start within its "about"."""
    cost = COSTS[name]
    expected = cost.cycles[ARCHITECTURES.index(architecture)]
    few, many = (cycles_of(name, body, n, architecture, language) for n in (FEW, MANY))
    assert (many - few) / (MANY - FEW) == pytest.approx(expected, rel=1e-4, abs=1e-4)
    start = START[cost.engine] + cost.extra
    assert few == pytest.approx(start + expected * FEW, abs=START_TOLERANCE)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", COSTS)
def test_an_instruction_costs_its_documented_cycles(name, architecture):
    cost = COSTS[name]
    if cost.cycles[ARCHITECTURES.index(architecture)] is not None:
        check(name, cost.body, architecture, "new")
        return
    with pytest.raises(NotImplementedError) as caught:
        steps_of(name.split()[0], cost.body, FEW, architecture)
    needed = "v3" if cost.cycles[1] is not None else "v4"
    assert str(caught.value).startswith(
        f"instruction '{name.split()[0]}' needs NeuronCore-{needed} or newer; architecture "
        f"{architecture} is a NeuronCore-v"
    )


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", BODIES)
def test_the_older_language_emits_the_same_instruction(name, architecture):
    if COSTS[name].cycles[ARCHITECTURES.index(architecture)] is not None:
        check(name, BODIES[name], architecture, "old")


def _moving(n):
    """n columns of twice as many, from where a tile says."""
    start = old_nl.ndarray((1, 1), dtype=old_nl.int32, buffer=old_nl.sbuf)
    i_p, i_f = old_nl.arange(128)[:, None], old_nl.arange(n)[None, :]
    return old_wide(2 * n)[i_p, start[0, 0] + i_f]


def dynamic_src(n):
    return old_nisa.tensor_copy_dynamic_src(_moving(n), engine=old_nisa.vector_engine)


def dynamic_dst(n):
    old_nisa.tensor_copy_dynamic_dst(dst=_moving(n), src=old_wide(n), engine=old_nisa.vector_engine)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    ("instruction", "body"),
    [("tensor_copy_dynamic_src", dynamic_src), ("tensor_copy_dynamic_dst", dynamic_dst)],
)
def test_a_dynamic_copy_costs_at_least_600_cycles(instruction, body, architecture):
    """max(MIN_II_DYNAMIC, N), MIN_II_DYNAMIC about 600: as the function pages have it."""
    clock = CLOCKS["Vector"][architecture]
    times = {
        n: nanoseconds(steps_of(instruction, body, n, architecture, "old")) * clock
        for n in (64, 256, 1024, 2048)
    }
    assert times[64] == times[256] == pytest.approx(600, abs=START["Vector"] + START_TOLERANCE)
    assert times[2048] - times[1024] == pytest.approx(1024, rel=1e-4)


def _product(dtype):
    return lambda n: nisa.nc_matmul(wide(n, psum=True), wide(128, dtype), wide(n, dtype))


def _old_product(dtype):
    def body(n):
        tiles = [old_nl.ndarray((128, size), dtype=dtype, buffer=old_nl.sbuf) for size in (128, n)]
        return old_nisa.nc_matmul(*tiles)

    return body


#: GHz of the array for one product: Trn2 and Trn3 begin at half of 2.4 GHz until it is warm.
ARRAY = {"trn1": 2.8, "trn2": 1.2, "trn3": 1.2}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("language", ["new", "old"])
@pytest.mark.parametrize(("dtype", "passes"), [("bfloat16", 1), ("float32", 4)])
def test_a_product_streams_a_column_per_cycle_and_pass(dtype, passes, language, architecture):
    words = nl if language == "new" else old_nl
    body = (_product if language == "new" else _old_product)(getattr(words, dtype))
    times = []
    for n in (FEW, MANY):
        steps = steps_of("nc_matmul", body, n, architecture, language)
        times.append(nanoseconds(each for each in steps if each["unit"] == "multiply_moving"))
    cycles = (times[1] - times[0]) * ARRAY[architecture]
    assert cycles == pytest.approx(passes * (MANY - FEW), rel=1e-3)


def test_a_product_of_packed_values_costs_what_one_of_bf16_does():
    def packed(n):
        values = nl.float8_e4m3fn_x4
        scales = wide(128, nl.uint8), wide(n, nl.uint8)
        return nisa.nc_matmul_mx(wide(n, psum=True), wide(128, values), wide(n, values), *scales)

    for n in (FEW, MANY):
        mx = steps_of("nc_matmul_mx", packed, n, "trn3")
        half = steps_of("nc_matmul", _product(nl.bfloat16), n, "trn3")
        assert nanoseconds(mx) == pytest.approx(nanoseconds(half), rel=1e-9)


@pytest.mark.parametrize("language", ["new", "old"])
def test_a_transpose_of_bf16_on_the_tensor_engine_is_a_product_of_its_columns(language):
    """max(P, min(64, F)) cycles: P columns move through the array."""

    def new(p):
        data = nl.ndarray((p, 128), nl.bfloat16, buffer=nl.sbuf)
        turned = nl.ndarray((128, p), nl.bfloat16, buffer=nl.psum)
        nisa.nc_transpose(turned, data, engine=nisa.engine.tensor)

    def old(p):
        data = old_nl.ndarray((p, 128), dtype=old_nl.bfloat16, buffer=old_nl.sbuf)
        return old_nisa.nc_transpose(data, engine=old_nisa.tensor_engine)

    times = []
    for p in (96, 128):
        steps = steps_of("nc_transpose", new if language == "new" else old, p, "trn2", language)
        times.append(nanoseconds(each for each in steps if each["unit"] == "multiply_moving"))
    assert times[1] >= times[0] > 0
    product = steps_of("nc_matmul", _product(nl.bfloat16), 128, "trn2")
    columns = nanoseconds(each for each in product if each["unit"] == "multiply_moving")
    assert times[1] == pytest.approx(columns, rel=0.15)


@pytest.mark.parametrize("body", ["alloc", "move", "load", "store"])
def test_register_instructions_keep_no_engine_busy(body):
    """No document gives them a cost: the sequencer runs them between instructions."""

    def emit(_):
        register = nisa.register_alloc(3)
        if body == "move":
            nisa.register_move(register, 5)
        elif body != "alloc":
            element = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)
            if body == "load":
                nisa.register_load(register, element)
            else:
                nisa.register_store(element, register)

    for architecture in ARCHITECTURES:
        steps = steps_of(f"register_{body}", emit, 1, architecture)
        assert steps and {each["unit"] for each in steps} == {"sequencer"}
        assert nanoseconds(steps) == 0


@pytest.mark.parametrize("query", ["get_nc_version", "get_nc_sub_version"])
@pytest.mark.parametrize("language", [(nki, nl, nisa), (old_nki, old_nl, old_nisa)])
def test_a_query_emits_no_instruction(query, language):
    package, words, isa = language

    def program(asks):
        @package.jit
        def kernel():
            out = words.ndarray((1, 1), dtype=words.float32, buffer=words.shared_hbm)
            if asks:
                getattr(isa, query)()
            words.store(out, words.ndarray((1, 1), dtype=words.float32, buffer=words.sbuf))
            return out

        return kernel.traced().source

    assert program(True).listing() == program(False).listing()
