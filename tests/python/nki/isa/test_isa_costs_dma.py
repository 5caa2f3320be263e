"""Simulated time of what the DMA engines do, and of what two cores do together."""

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_functions.function import ARCHITECTURES
from isa_functions.tiles import wide
from test_isa_costs import FEW, MANY, nanoseconds, steps_of

#: Bytes per nanosecond of one of 16 DMA engines: the effective rate of the DMA guide for Trn1,
#: the rate of the architecture guides for Trn2 and Trn3.
ENGINE_RATE = {"trn1": 17.0, "trn2": 27.2, "trn3": 38.4}
ENGINES = 16


def per_byte(instruction, body, architecture, language="new", cores=1):
    """Nanoseconds per byte of an fp32 tile [128, n] that n more columns take."""
    few, many = (
        nanoseconds(
            [each for each in steps_of(instruction, body, n, architecture, language, cores)
             if each["kind"] == "transfer" and each["core"] == 0]
        )
        for n in (FEW, MANY)
    )  # fmt: skip
    return (many - few) / ((MANY - FEW) * 128 * 4)


def whole_rate(architecture):
    """Nanoseconds per byte of all engines."""
    return 1 / (ENGINES * ENGINE_RATE[architecture])


def _copy(n):
    # The kernel's own store is of one element: a fixed time, which the difference leaves out.
    nisa.dma_copy(wide(n), wide(n))


def _old_copy(n):
    tiles = [old_nl.ndarray((128, n), dtype=old_nl.float32, buffer=old_nl.sbuf) for _ in range(2)]
    old_nisa.dma_copy(dst=tiles[0], src=tiles[1])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("language", "body"), [("new", _copy), ("old", _old_copy)])
def test_a_copy_moves_the_bytes_of_16_engines(language, body, architecture):
    measured = per_byte("dma_copy", body, architecture, language)
    assert measured == pytest.approx(whole_rate(architecture), rel=0.02)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_sum_of_two_tensors_moves_them_at_half_of_the_rate(architecture):
    def body(n):
        nisa.dma_compute(wide(n), [wide(n), wide(n)], np.add)

    measured = per_byte("dma_compute", body, architecture)
    assert measured == pytest.approx(2 * whole_rate(architecture), rel=0.02)


@pytest.mark.parametrize("architecture", ["trn2", "trn3"])
def test_rows_of_hbm_below_256_bytes_take_a_least_time(architecture):
    def load_of(elements):
        def body(n):  # a token has `elements` for each partition
            tokens = nl.ndarray((n, 128, elements), nl.float32, buffer=nl.hbm)
            tile = nl.ndarray((128, n, elements), nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(tile, tokens.permute((1, 0, 2)))

        return body

    def fixed(elements):  # nanoseconds of a row beside its bytes; an engine moves 8 rows per token
        row = per_byte("dma_copy", load_of(elements), architecture) * 128 * 4 / 8
        return row - 4 * elements / ENGINE_RATE[architecture]

    assert fixed(2) == pytest.approx(22, abs=0.1)
    assert fixed(63) == pytest.approx(22, abs=0.1)
    assert fixed(64) < 6


@pytest.mark.parametrize("architecture", ["trn2", "trn3"])
@pytest.mark.parametrize("language", ["new", "old"])
def test_a_transpose_reaches_at_most_90_percent_of_a_copy(language, architecture):
    def new(n):
        data = nl.ndarray((n, 128), nl.bfloat16, buffer=nl.hbm)
        nisa.dma_transpose(wide(n, nl.bfloat16), data)

    def old(n):
        data = old_nl.ndarray((n, 128), dtype=old_nl.bfloat16, buffer=old_nl.private_hbm)
        return old_nisa.dma_transpose(data)

    body = new if language == "new" else old
    measured = 2 * per_byte("dma_transpose", body, architecture, language)  # of bf16
    assert measured >= whole_rate(architecture) / 0.9
    assert measured < 4 * whole_rate(architecture)


@pytest.mark.parametrize("architecture", ["trn2", "trn3"])
def test_short_rows_do_not_slow_a_transpose_within_sbuf(architecture):
    def body(n):  # rows of 256 bytes: of a copy they would be packets
        tiles = [nl.ndarray((128, 1, n // 128, 128), nl.bfloat16, buffer=nl.sbuf) for _ in "ab"]
        nisa.dma_transpose(*tiles)

    measured = 2 * per_byte("dma_transpose", body, architecture)
    assert measured == pytest.approx(whole_rate(architecture) / 0.5, rel=0.02)


def test_a_transpose_of_trn1_goes_element_by_element():
    def body(n):
        data = nl.ndarray((n, 128), nl.bfloat16, buffer=nl.hbm)
        nisa.dma_transpose(wide(n, nl.bfloat16), data)

    assert 2 * per_byte("dma_transpose", body, "trn1") > 100 * whole_rate("trn1")


@pytest.mark.parametrize("architecture", ["trn2", "trn3"])
def test_an_exchange_of_cores_moves_its_bytes_as_a_copy_does(architecture):
    def body(n):
        other = 1 - nl.program_id(0)
        nisa.sendrecv(wide(n), wide(n), other, other, 0)

    measured = per_byte("sendrecv", body, architecture, cores=2)
    assert measured == pytest.approx(whole_rate(architecture), rel=0.02)


@pytest.mark.parametrize("architecture", ["trn2", "trn3"])
def test_a_barrier_costs_the_same_whatever_tensor_it_names(architecture):
    def body(n):
        data = nl.ndarray((128, n), nl.float32, buffer=nl.shared_hbm)
        nisa.core_barrier(data, (0, 1))

    times = [
        [each["end_ns"] - each["start_ns"]
         for each in steps_of("core_barrier", body, n, architecture, cores=2)]
        for n in (1, MANY)
    ]  # fmt: skip
    assert times[0] == times[1]
    assert len(times[0]) == 2 and times[0][0] == times[0][1] > 0
