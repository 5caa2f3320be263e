"""nki.benchmark, nki.profile and nki.baremetal of the new language."""

from .kernel import Kernel
from .measurement.measured_kernels import decorators

baremetal, benchmark, profile = decorators(Kernel, Kernel)
