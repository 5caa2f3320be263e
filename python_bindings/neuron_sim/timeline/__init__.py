"""Where the time of a kernel goes: the timeline page, comparisons, Perfetto files and advice.

Everything here takes a finished `_core.Program` (and the log of its run, where control depends on
data) and shows one recording of it: `Program.recording`.
"""

from neuron_sim.timeline.advice import Advice, advice_text, advise
from neuron_sim.timeline.comparison import Difference, compare_runs
from neuron_sim.timeline.page import (
    InlineTimeline,
    comparison_page,
    read_timeline,
    timeline_page,
    write_comparison,
    write_timeline,
)
from neuron_sim.timeline.recorded_run import RecordedRun, record_run

__all__ = [
    "Advice", "Difference", "InlineTimeline", "RecordedRun", "advice_text", "advise",
    "compare_runs", "comparison_page", "read_timeline", "record_run", "timeline_page",
    "write_comparison", "write_timeline",
]  # fmt: skip
