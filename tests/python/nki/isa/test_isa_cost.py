"""Simulated time of instructions of nki.isa: it grows with the elements as documented.

The formulas of the vendor's instruction pages are of the generation of Trn1.
"""

import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import pytest
from isa_harness import BFLOAT16, engine_time, uniform, writing

PER_ELEMENT = {
    "tensor_tensor": (lambda d, a: nisa.tensor_tensor(d, a, a, nl.add), 2.0, 1.12),
    "tensor_tensor_scan": (lambda d, a: nisa.tensor_tensor_scan(d, a, a, 0.0, nl.multiply, nl.add),
        2.0, 1.12),
    "activation": (lambda d, a: nisa.activation(d, nl.exp, a), 1.0, 1.4),
    "tensor_reduce": (lambda d, a: nisa.tensor_reduce(d[:, 0:1], nl.add, a, 1), 1.0, 1.12),
    "reciprocal": (lambda d, a: nisa.reciprocal(d, a), 2.6, 1.12),
    "iota": (lambda d, a: nisa.iota(d, [[1, a.shape[1]]]), 1.0, 1.4),
}  # fmt: skip


def duration(body, columns, instruction, dtype="float32", partitions=128, architecture="trn2"):
    array = uniform(partitions, columns).astype(dtype)
    return engine_time(writing(body, array.shape, dtype), [array], instruction, architecture)


@pytest.mark.parametrize("instruction", PER_ELEMENT)
def test_time_grows_by_the_documented_cycles_per_element(instruction):
    body, cycles, clock = PER_ELEMENT[instruction]
    short, long = (duration(body, n, instruction, architecture="trn1") for n in (512, 2048))
    assert (long - short) / 1536 * clock == pytest.approx(cycles, rel=0.01)


@pytest.mark.parametrize("instruction", ["tensor_tensor", "activation"])
def test_time_does_not_depend_on_the_partitions(instruction):
    body = PER_ELEMENT[instruction][0]
    all_of_them = duration(body, 600, instruction)
    assert all_of_them == pytest.approx(duration(body, 600, instruction, partitions=1), rel=1e-9)


def test_copies_of_bf16_are_faster_than_of_fp32():
    def body(dst, a):
        nisa.tensor_copy(dst, a, engine=nisa.vector_engine)

    half = duration(body, 2048, "tensor_copy", BFLOAT16) - duration(
        body, 512, "tensor_copy", BFLOAT16
    )
    full = duration(body, 2048, "tensor_copy") - duration(body, 512, "tensor_copy")
    assert half < full


def test_two_operators_of_tensor_scalar_cost_as_much_as_one():
    def one(dst, a):
        nisa.tensor_scalar(dst, a, nl.add, 1.0)

    def two(dst, a):
        nisa.tensor_scalar(dst, a, nl.add, 1.0, op1=nl.multiply, operand1=2.0)

    single = duration(one, 700, "tensor_scalar")
    assert single == pytest.approx(duration(two, 700, "tensor_scalar"), rel=1e-9)


def test_the_sum_of_an_activation_costs_a_read_of_the_accumulator():
    def plain(dst, a):
        nisa.activation(dst, nl.copy, a)

    def summed(dst, a):
        total = nl.ndarray((a.shape[0], 1), nl.float32)
        nisa.activation_reduce(dst, nl.copy, a, reduce_op=nl.add, reduce_res=total)

    extra = duration(summed, 900, "activation_reduce") - duration(plain, 900, "activation")
    assert 0 < extra < 200
