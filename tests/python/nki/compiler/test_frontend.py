"""nki.compiler.frontend: kernels traced without being run."""

import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm, target
from neuron_sim.nki.compiler.frontend import NKIFrontend, ParserFrontend, TracerFrontend
from nki_errors import error_of

A = np.zeros((128, 8), np.float32)


def double(a, factor=2.0):
    return in_hbm(nl, nl.load(a) * factor)


@pytest.mark.parametrize("frontend", [ParserFrontend(), TracerFrontend()])
@pytest.mark.parametrize("kernel", [double, nki.jit(double)], ids=["function", "kernel"])
def test_a_kernel_is_traced_for_the_target_and_not_run(frontend, kernel):
    assert isinstance(frontend, NKIFrontend)
    traced = frontend.compile(
        kernel, inputs={"a": A, "factor": 3.0}, target="gen2", output_names=["out"]
    )
    assert traced.architecture == "trn1"
    with target("trn1"):
        assert traced.time() == nki.jit(double).traced(A, 3.0).time()


def test_cores_are_those_of_the_logical_core():
    seen = []

    def kernel(a):
        seen.append(nl.num_programs(0))
        return double(a)

    ParserFrontend().compile(kernel, inputs={"a": A}, target="trn2", lnc=2)
    assert set(seen) == {2}


def test_an_error_is_the_kernels():
    def kernel(a):
        assert a.shape[0] == 4, "four rows are needed"

    message = error_of(
        lambda: ParserFrontend().compile(kernel, inputs={"a": A}, target="trn2"),
        kind=AssertionError,
    )
    assert message.startswith("four rows are needed")
