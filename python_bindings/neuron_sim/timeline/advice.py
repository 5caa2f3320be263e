"""What bounds a kernel, where it lies under the roofline, and what would help."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from neuron_sim.terminal.tables import cell
from neuron_sim.timeline.changes import LEAST_SAVED, Change
from neuron_sim.timeline.columns import column
from neuron_sim.timeline.peaks import Facts, dma_bandwidth, hbm_bandwidth, peak_operations
from neuron_sim.timeline.thresholds import ENGINE_BOUND, MEMORY_BOUND, THRESHOLDS, Work
from neuron_sim.timeline.what_if import WhatIf, what_if


@dataclass(frozen=True)
class Finding:
    """A published threshold that a kernel passes."""

    title: str
    share: float
    """The part of the run's work that it concerns, 0 to 1."""
    text: str
    source: str


@dataclass(frozen=True)
class Advice:
    """What is known about the time of one run."""

    kernel: str
    architecture: str
    body_us: float
    bound: str
    """What bounds the run, one sentence."""
    roofline: str
    """Where it lies under the roofline, one or two sentences."""
    path: dict[str, float]
    """Shares of the critical path by what they are spent on, largest first; they sum to 1."""
    what_if: list[WhatIf]
    findings: list[Finding]
    changes: list[Change] | None = field(default=None)
    """What makes it faster, tried, most useful first; None where no change was tried."""

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(advice_text(self))}</pre>"

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def advise(
    program: Any,
    log: Sequence[int] = (),
    recording: Mapping[str, Any] | None = None,
    changes: Sequence[Change] | None = None,
) -> Advice:
    """Advice for one run of a `_core.Program`. `log`: what `Program.run` returned; `recording`:
    what `Program.recording` returned for it, if there is one already; `changes` of its kernel that
    were tried."""
    recorded = program.recording(log=list(log)) if recording is None else recording
    timing = program.time(log=list(log))
    counters = program.counters(log=list(log))
    body = recorded["body"]
    path = sorted(recorded["path"].items(), key=lambda item: -item[1])
    return Advice(
        kernel=program.kernel,
        architecture=program.architecture,
        body_us=timing["body_us"],
        bound=bound_text(timing, counters, program.facts, recorded["cores"]),
        roofline=roofline_text(timing, counters, program.facts, recorded["cores"]),
        path={name: time / body for name, time in path} if body else {},
        what_if=what_if(program, log),
        findings=findings(work_of(program, recorded, counters)),
        changes=None if changes is None else list(changes),
    )


def work_of(program: Any, recording: Mapping[str, Any], counters: dict[str, int]) -> Work:
    """What each instruction of a recording did."""
    instructions = recording["names"]["instructions"]
    count = len(instructions)
    by_instance = column(recording, "instance_instruction")
    by_event = by_instance[column(recording, "event_instance")]
    tracks = recording["names"]["tracks"]
    loads = {i for i, each in enumerate(tracks) if each["name"].startswith("Tensor (load")}
    is_load = np.isin(column(recording, "event_track"), list(loads))
    return Work(
        instructions=instructions,
        busy=np.bincount(by_event, column(recording, "event_busy"), count),
        dma_bytes=np.bincount(by_event, column(recording, "event_bytes"), count),
        instances=np.bincount(by_instance, minlength=count),
        weight_loads=len(np.unique(column(recording, "event_instance")[is_load])),
        products=counters["matmul_instructions"],
        program=program,
        counters=counters,
    )


def findings(work: Work) -> list[Finding]:
    """The thresholds that the work passes, in the order of the table."""
    found = []
    for threshold in THRESHOLDS:
        share = threshold.measure(work)
        if share > threshold.least:
            text = threshold.text.format(share=f"{share:.0%}", partitions=work.partitions)
            found.append(Finding(threshold.title, share, text, threshold.source))
    return found


def bound_text(
    timing: Mapping[str, Any], counters: Mapping[str, int], facts: Facts, cores: int = 1
) -> str:
    """One sentence: the busiest unit, and whether it is what the vendor calls bound."""
    shares = timing["utilisation"]
    engine = max((name for name in shares if name != "DMA"), key=lambda name: shares[name])
    seconds = timing["body_us"] * 1e-6 or 1
    memory = _hbm_bytes(counters) / (cores * hbm_bandwidth(facts)) / seconds
    busiest = (
        f"busiest engine {engine} {shares[engine]:.0%}, DMA engines {shares['DMA']:.0%}, "
        f"HBM bandwidth {memory:.0%}"
    )
    if shares[engine] >= ENGINE_BOUND:
        return f"Bound by {engine}: {busiest}."
    if memory >= MEMORY_BOUND or shares["DMA"] >= ENGINE_BOUND:
        return f"Bound by data movement: {busiest}."
    idle = max(shares.values()) < 0.5
    waiting = "by waiting of instructions for each other" if idle else "by no unit alone"
    return (
        f"Bound {waiting}: {busiest}; the vendor calls {ENGINE_BOUND:.0%} of an engine or "
        f"{MEMORY_BOUND:.0%} of the memory bandwidth bound."
    )


def roofline_text(
    timing: Mapping[str, Any], counters: Mapping[str, int], facts: Facts, cores: int = 1
) -> str:
    """Where the run lies under the roofline of its products, or how fast it moved its bytes."""
    seconds = timing["body_us"] * 1e-6
    moved = _hbm_bytes(counters)
    operations = 2 * counters["multiply_accumulates"]
    hbm, engines = cores * hbm_bandwidth(facts), cores * dma_bandwidth(facts)
    bandwidth = min(hbm, engines)
    limit = (
        f"{bandwidth / 1e9:.4g} GB/s ({cores * facts['dma.engines']['value']:.0f} DMA engines give "
        f"{engines / 1e9:.4g} GB/s, HBM {hbm / 1e9:.4g})"
    )
    if seconds == 0:
        return "Nothing ran."
    if operations == 0 or moved == 0:
        return f"No products: {moved / seconds / 1e9:.4g} GB/s of HBM traffic of at most {limit}."
    peak = cores * peak_operations(facts)
    intensity = operations / moved
    attainable = min(peak, intensity * bandwidth)
    reached = operations / seconds
    side = "the peak of the Tensor engine" if attainable == peak else "data movement"
    return (
        f"{intensity:.4g} operations per byte of HBM traffic; at most {attainable / 1e12:.4g} "
        f"TFLOP/s there, limited by {side}; reached {reached / 1e12:.4g}, "
        f"{reached / attainable:.1%} of it. With 16-bit operands the peak is {peak / 1e12:.4g} "
        f"TFLOP/s; data moves with at most {limit}."
    )


def _hbm_bytes(counters: Mapping[str, int]) -> int:
    return counters["hbm_read_bytes"] + counters["hbm_write_bytes"]


def advice_text(advice: Advice) -> str:
    """The advice for a terminal."""
    lines = [f"{advice.kernel} on {advice.architecture}: body {cell(advice.body_us)} us"]
    if advice.changes is not None:
        lines += [f"{number}. {each}\n   ({each.lesson}: {each.link})"
                  for number, each in enumerate(advice.changes, 1)]  # fmt: skip
        lines += [] if advice.changes else [f"No change that was tried saves {LEAST_SAVED:.0%}."]
    lines += [advice.bound, advice.roofline]
    parts = ", ".join(f"{name} {share:.0%}" for name, share in advice.path.items())
    faster = [each for each in advice.what_if if each.saved >= LEAST_SAVED]
    nothing = "" if faster else f" less than {LEAST_SAVED:.0%}, whichever resource it is"
    lines += [f"Critical path: {parts}.", f"Twice as fast would save:{nothing}"]
    width = max((len(each.resource) for each in faster), default=0)
    for each in faster:
        lines.append(
            f"  {each.resource.ljust(width)}  {each.saved:6.1%}  ({cell(each.body_us)} us)"
        )
    for finding in advice.findings:
        lines += [f"{finding.title}: {finding.text}", f"  ({finding.source})"]
    return "\n".join(lines)
