"""Where the time of a kernel goes: the timeline page, Perfetto files and advice.

Everything here takes a finished `_core.Program` (and the log of its run, where control depends on
data) and shows one recording of it: `Program.recording`.
"""

from neuron_sim.timeline.advice import Advice, advice_text, advise
from neuron_sim.timeline.page import timeline_page, write_timeline

__all__ = ["Advice", "advice_text", "advise", "timeline_page", "write_timeline"]
