"""`nki.profile`: program, traces and reports of a kernel in one folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from neuron_sim.files import write_whole
from neuron_sim.nki.measurement.folder import record
from neuron_sim.nki.measurement.program_file import write_program, write_trace
from neuron_sim.nki.measurement.recorded import profile_of
from neuron_sim.nki.measurement.tables.summary import summary_of

REPORTS = "json_reports"
"""Folder of the summaries inside the working directory."""


def profile_kernel(
    kernel: Any,
    working_directory: str,
    save_neff_name: str = "file.neff",
    save_trace_name: str = "profile.ntff",
    overwrite: bool = False,
    profile_nth: int = 1,
    num_execs: int = 1,
    **_options: Any,
) -> list[Path]:
    """Writes the program, the trace of every `profile_nth` of `num_execs` executions and a JSON
    summary of each; returns the traces. All executions take the same time.

    The working directory must be absolute and is created if missing. ValueError for another
    one, for counts below 1, and for files that exist unless `overwrite`.
    """
    folder = Path(working_directory)
    if not folder.is_absolute():
        raise ValueError(f"'profile': working_directory '{folder}' must be an absolute path.")
    for name, count in (("profile_nth", profile_nth), ("num_execs", num_execs)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"'profile': {name} is {count!r} and must be an int >= 1.")
    program = folder / os.path.basename(save_neff_name)
    runs = range(profile_nth, max(num_execs, profile_nth) + 1, profile_nth)
    traces = [folder / trace_name(save_trace_name, run) for run in runs]
    for path in [program, *traces]:
        if path.exists() and not overwrite:
            raise ValueError(f"'profile': {path} exists; overwrite=True replaces it.")
    (folder / REPORTS).mkdir(parents=True, exist_ok=True)
    profile = profile_of(kernel)
    write_program(kernel, profile, program)
    report = json.dumps({"summary": [summary_of(profile)]}, indent=1)
    for trace in traces:
        write_trace(kernel, profile, trace)
        write_whole(folder / REPORTS / f"{trace.stem}.json", report)
    record(kernel)
    return traces


def trace_name(save_trace_name: str, execution: int) -> str:
    """The vendor's names: that of the first execution, then `..._exec_<n>.ntff`."""
    stem = Path(save_trace_name).stem
    return f"{stem}.ntff" if execution == 1 else f"{stem}_exec_{execution}.ntff"
