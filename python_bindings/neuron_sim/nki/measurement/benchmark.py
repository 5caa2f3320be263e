"""`nki.benchmark`: the latency of a kernel as the vendor's table shows it.

A chip's latency varies from run to run; the model's does not. All percentiles are equal, unless
NEURON_SIM_PERCENTILES=clock_phase asks for the one variation that the model knows: the clock of
the Tensor engine is switched in free-running windows (trn2), so that a kernel meets them at any
phase. The percentiles are then those over PHASES phases at equal distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neuron_sim import _core
from neuron_sim.nki.measurement.folder import record
from neuron_sim.nki.measurement.program_file import save_program, save_trace
from neuron_sim.terminal.tables import as_html
from neuron_sim.timeline.interval import interval, kind_of

PERCENTILES = (0, 1, 10, 25, 50, 90, 99, 100)
"""The percentiles of the vendor's result."""

PHASES = 32  # no size of the hardware: phases of a clock window
HOST_LATENCY_US = 50.0
"""Latency seen from the host minus that of the NeuronCore. Published tables of the vendor's
benchmark show 42 to 80 us at the median; not a model of the host (certainty: assumed)."""

_COLUMNS = (
    ("B", "NC", "NC USED", "WEIGHTS", "MODE", "INF/S", "IRES/S")
    + tuple(f"L({p})" for p in (1, 50, 99))
    + tuple(f"NCL({p})" for p in (1, 50, 99))
    + ("%USER",)
)


@dataclass(frozen=True)
class LatencyPercentiles:
    """Latencies of the iterations of a benchmark."""

    latencies_us: tuple[float, ...]
    """Sorted, in microseconds; one when all iterations are alike."""

    def get_latency_percentile(self, percentile: int) -> float:
        """The latency in microseconds. ValueError for a percentile that the vendor lacks."""
        if percentile not in PERCENTILES:
            raise ValueError(
                f"percentile {percentile} is not available; available are {list(PERCENTILES)}."
            )
        last = len(self.latencies_us) - 1
        return self.latencies_us[round(percentile / 100 * last)]


@dataclass(frozen=True)
class BenchmarkResult:
    """`fn.benchmark_result` after a call of a benchmarked kernel."""

    nc_latency: LatencyPercentiles
    """On the NeuronCore: the kernel and its launch."""
    latency: LatencyPercentiles
    """Seen from the host, without the copies of inputs and outputs."""

    def _repr_html_(self) -> str:
        rows = [
            {
                "percentile": percentile,
                "NeuronCore us": self.nc_latency.get_latency_percentile(percentile),
                "host us": self.latency.get_latency_percentile(percentile),
            }
            for percentile in PERCENTILES
        ]
        return as_html(rows, title="Latency")

    def table(self, name: str = "file") -> str:
        """The table that the vendor's benchmark prints; latencies in microseconds."""
        host, core = self.latency, self.nc_latency
        rate = f"{1e6 / host.get_latency_percentile(50):.2f}"
        cells = ["1", "1", "1", "dynamic", "LIBMODE", rate, rate]
        for latency in (host, core):
            cells += [f"{latency.get_latency_percentile(p):.0f}" for p in (1, 50, 99)]
        return _table(name, [*cells, "N/A"])


def _table(name: str, cells: Sequence[str]) -> str:
    widths = [max(len(title), len(cell)) for title, cell in zip(_COLUMNS, cells, strict=True)]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    rows = [
        "".join(f"  {text.ljust(width)} " for text, width in zip(row, widths, strict=True)) + " "
        for row in (_COLUMNS, cells)
    ]
    return "\n".join([name.ljust(80), rule, *rows, rule])


def measure(
    kernel: Any,
    warmup: int = 10,
    iters: int = 100,
    save_neff_name: str | None = None,
    save_trace_name: str | None = None,
    **_options: Any,
) -> BenchmarkResult:
    """Times `kernel`, prints the vendor's table and the interval of the latency, saves its program
    and trace where asked.

    `warmup` and `iters` must be counts (ValueError): every iteration takes the same time. Further
    options of the vendor (device_count, ...) change nothing here.
    """
    for name, count, least in (("warmup", warmup, 0), ("iters", iters, 1)):
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise ValueError(f"'benchmark': {name} is {count!r} and must be an int >= {least}.")
    core = _latencies(kernel)
    host = tuple(latency + HOST_LATENCY_US for latency in core)
    result = BenchmarkResult(LatencyPercentiles(core), LatencyPercentiles(host))
    if save_neff_name:
        save_program(kernel, save_neff_name)
    if save_trace_name:
        save_trace(kernel, save_trace_name)
    record(kernel)
    print(f"\n{result.table()}")
    median = result.nc_latency.get_latency_percentile(50)
    print(interval(kind_of([kernel.time()])).text("NCL(50)", median))
    return result


def _latencies(kernel: Any) -> tuple[float, ...]:
    choice = _core.setting("NEURON_SIM_PERCENTILES") or "equal"
    if choice == "equal":
        return (round(kernel.time()["latency_us"], 3),)
    if choice != "clock_phase":
        raise ValueError(f"NEURON_SIM_PERCENTILES is '{choice}', not 'equal' or 'clock_phase'.")
    window_ns = _clock_window_ns(kernel.program.facts)
    phases = [window_ns * phase / PHASES for phase in range(PHASES)]
    times = (
        kernel.program.time(clock_phase_ns=phase, log=getattr(kernel, "log", []))["latency_us"]
        for phase in phases
    )
    return tuple(sorted(round(time, 3) for time in times))


def _clock_window_ns(facts: dict[str, Any]) -> float:
    """Length of a window of the Tensor engine's clock; 0 where the clock is not switched."""
    if not facts["features.clock_gating"]["value"]:
        return 0.0
    return float(facts["tensor.gate_window"]["value"])
