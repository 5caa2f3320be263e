"""Numbers where the vendor prints them: benchmarks, program and trace files, profiles.

Everything here takes a traced kernel: an object with `program` (a finished `_core.Program`) and
`time()` (the dict of `Program.time()`: body_us, latency_us, profile_us, ...). The decorators
`nki.benchmark` and `nki.profile` call `measure` and `profile_kernel`; whatever runs a kernel calls
`record` afterwards.
"""

from neuron_sim.nki.measurement.benchmark import BenchmarkResult, LatencyPercentiles, measure
from neuron_sim.nki.measurement.folder import record
from neuron_sim.nki.measurement.profile import profile_kernel
from neuron_sim.nki.measurement.program_file import save_program, save_trace
from neuron_sim.nki.measurement.timing_only import is_timing_only, timing_only

__all__ = [
    "BenchmarkResult",
    "LatencyPercentiles",
    "is_timing_only",
    "measure",
    "profile_kernel",
    "record",
    "save_program",
    "save_trace",
    "timing_only",
]
