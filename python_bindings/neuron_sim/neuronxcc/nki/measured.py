"""nki.benchmark, nki.profile, nki.baremetal with file names, of the old language."""

from neuron_sim.nki.measurement.measured_kernels import decorators

from .kernel import Kernel

baremetal, benchmark, profile = decorators(
    Kernel, lambda function: Kernel(function, "baremetal", checked=False)
)
