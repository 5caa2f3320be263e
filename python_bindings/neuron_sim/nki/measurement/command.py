"""The profiler's command: `neuron-profile` under `neuron-sim run`.

  neuron-sim profile capture -n file.neff -s profile.ntff
  neuron-sim profile view -n file.neff -s profile.ntff --output-format summary-text

The files are those that `save_neff_name`, `save_trace_name` and `neuron-sim run --profile` write.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from neuron_sim.files import write_whole

SUMMARY = "capture and view profiles of NKI kernels (neuron-profile)"

FORMATS = ("db", "summary-text", "summary-json", "json", "perfetto")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    capture = commands.add_parser("capture", help="write the trace of a program")
    capture.add_argument("-n", "--neff", required=True, metavar="FILE", help="program file")
    capture.add_argument(
        "-s", "--session-file", default="profile.ntff", metavar="FILE", help="trace file to write"
    )
    capture.add_argument(
        "--profile-nth-exec", type=int, default=1, metavar="N", help="names the file ..._exec_N"
    )
    view = commands.add_parser("view", help="show a trace")
    view.add_argument("-n", "--neff-path", metavar="FILE", help="program file")
    view.add_argument("-s", "--session-file", metavar="FILE", help="trace file")
    view.add_argument(
        "--output-format",
        choices=FORMATS,
        default="db",
        help="db and perfetto write the timeline for https://ui.perfetto.dev",
    )
    view.add_argument("--output-file", metavar="FILE", help="where to write")


def main(arguments: list[str] | None = None) -> int:
    """`neuron-profile` by itself."""
    parser = argparse.ArgumentParser(prog="neuron-profile", description=__doc__)
    add_arguments(parser)
    return run(parser.parse_args(arguments))


def run(arguments: argparse.Namespace) -> int:
    """0; 2 and one sentence on stderr for a file that is missing or not ours."""
    try:
        if arguments.command == "capture":
            _capture(arguments)
        else:
            _view(arguments)
    except OSError as error:
        print(f"neuron-profile: error: {error.filename}: {error.strerror}.", file=sys.stderr)
        return 2
    return 0


def _capture(arguments: argparse.Namespace) -> None:
    from neuron_sim.nki.measurement.profile import trace_name  # the command line starts quickly
    from neuron_sim.nki.measurement.program_file import capture  # as above

    session = Path(arguments.session_file)
    path = session.parent / trace_name(session.name, arguments.profile_nth_exec)
    capture(arguments.neff, path)
    print(f"Profile captured: {path}")


def _view(arguments: argparse.Namespace) -> None:
    from neuron_sim.nki.measurement import program_file  # the same

    if arguments.session_file is None and arguments.neff_path is None:
        raise ValueError("view needs a trace (-s) or a program (-n).")
    if arguments.neff_path is not None:
        members = program_file.read(arguments.neff_path, program_file.PROGRAM)
    if arguments.session_file is not None:
        members = program_file.read(arguments.session_file, program_file.TRACE)
    summary = json.loads(members["summary.json"])
    kernel = json.loads(members["manifest.json"])["kernel"]
    if arguments.output_format == "summary-text":
        _give(summary_text(summary), arguments.output_file)
    elif arguments.output_format == "summary-json":
        _give(json.dumps({kernel: summary}, indent=1), arguments.output_file)
    elif arguments.output_format == "json":
        events = list(instructions(json.loads(members["trace.json"])))
        document = {"summary": [summary], "instruction": events}
        path = arguments.output_file or "profile.json"
        write_whole(path, json.dumps(document, indent=1))
        print(f"Profile written to {path}")
    else:
        source = arguments.session_file or arguments.neff_path
        path = arguments.output_file or f"{os.path.splitext(source)[0]}.trace.json"
        write_whole(path, members["trace.json"])
        print(f"View profile at https://ui.perfetto.dev: open {os.path.abspath(path)}")


def _give(text: str, path: str | None) -> None:
    if path is None:
        print(text)
    else:
        write_whole(path, f"{text}\n")


def summary_text(summary: dict[str, Any]) -> str:
    """Two columns, in alphabetical order."""
    width = max(map(len, summary), default=0)
    return "\n".join(f"{name.ljust(width)}  {_value(summary[name])}" for name in sorted(summary))


def _value(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def instructions(trace: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """The timed events of a Trace Event Format object, as the vendor's JSON has them: timestamp
    and duration in nanoseconds, label of the engine or queue, opcode, operands.

    ValueError for an object that is not a trace."""
    events = trace.get("traceEvents")
    if not isinstance(events, list):
        raise ValueError("trace.json has no list 'traceEvents'.")
    for number, event in enumerate(events):
        if not isinstance(event, dict):
            raise ValueError(f"trace.json: event {number} is not an object.")
    tracks = {
        (event.get("pid"), event.get("tid")): _arguments(event).get("name", "")
        for event in events
        if event.get("ph") == "M" and event.get("name") == "thread_name"
    }
    for number, event in enumerate(events):
        if event.get("ph") == "X":
            yield {
                "timestamp": _nanoseconds(event, "ts", number),
                "duration": _nanoseconds(event, "dur", number),
                "label": tracks.get((event.get("pid"), event.get("tid")), ""),
                "opcode": event.get("name", ""),
                "operands": _arguments(event),
            }


def _arguments(event: dict[str, Any]) -> dict[str, Any]:
    arguments = event.get("args")
    return arguments if isinstance(arguments, dict) else {}


def _nanoseconds(event: dict[str, Any], field: str, number: int) -> int:
    value = event.get(field)
    try:
        return round(float(value) * 1000)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"trace.json: '{field}' of event {number} is {value!r:.40}.") from None
