"""Limits of each function of nki.isa, from both sides."""

import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import pytest
from isa_costs import tile
from isa_harness import target
from isa_limits import LIMITS


def trace(architecture, body, argument, cores=1):
    """Traces a kernel of body(argument)."""

    @nki.jit
    def kernel():
        out = nl.ndarray((1, 1), nl.float32, buffer=nl.shared_hbm)
        body(argument)
        return out

    with target(architecture):
        (kernel[cores] if cores > 1 else kernel).traced()


@pytest.mark.parametrize("name", LIMITS)
def test_a_call_at_the_limit_is_emitted_and_one_beyond_it_is_refused(name):
    limit = LIMITS[name]
    trace(limit.architecture, limit.body, limit.allowed)
    with pytest.raises(limit.error) as caught:
        trace(limit.architecture, limit.body, limit.refused)
    assert str(caught.value) == limit.sentence


def _exchange(columns):
    other = 1 - nl.program_id(0)
    nisa.sendrecv(tile(32, 8), tile(32, columns), other, other, 0)


def _wait(cores):
    nisa.core_barrier(nl.ndarray((8, 8), nl.float32, buffer=nl.shared_hbm), cores)


@pytest.mark.parametrize(
    ("body", "allowed", "refused", "sentence"),
    [
        (
            _exchange,
            8,
            9,
            "'sendrecv' needs the same shape and dtype, but dst is float32 tensor[32, 9] and src "
            "is float32 tensor[32, 8].",
        ),
        (
            _wait,
            (0, 1),
            (0, 2),
            "'core_barrier' on tensor 'tensor': cores must be (0, 1), the two cores of a logical "
            "core of architecture trn2.",
        ),
    ],
    ids=["sendrecv", "core_barrier"],
)
def test_limits_of_what_two_cores_do_together(body, allowed, refused, sentence):
    trace("trn2", body, allowed, cores=2)
    with pytest.raises(ValueError) as caught:
        trace("trn2", body, refused, cores=2)
    assert str(caught.value) == sentence
