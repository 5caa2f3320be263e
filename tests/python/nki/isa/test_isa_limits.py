"""Limits of each function of nki.isa, from both sides."""

import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import pytest
from isa_functions import FUNCTIONS
from isa_harness import target

LIMITS = {name: row.limit for name, row in FUNCTIONS.items() if row.limit}


def trace(limit, argument):
    """Traces a kernel of the limit's body(argument)."""

    @nki.jit
    def kernel():
        out = nl.ndarray((1, 1), nl.float32, buffer=nl.shared_hbm)
        limit.body(argument)
        return out

    with target(limit.architecture):
        (kernel[limit.cores] if limit.cores > 1 else kernel).traced()


@pytest.mark.parametrize("name", LIMITS)
def test_a_call_at_the_limit_is_emitted_and_one_beyond_it_is_refused(name):
    limit = LIMITS[name]
    allowed, refused = limit.sides
    trace(limit, allowed)
    with pytest.raises(limit.error) as caught:
        trace(limit, refused)
    assert str(caught.value) == limit.sentence
