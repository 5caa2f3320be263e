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
    from neuron_sim.nki.measurement.profile import trace_name
    from neuron_sim.nki.measurement.program_file import capture

    session = Path(arguments.session_file)
    path = session.parent / trace_name(session.name, arguments.profile_nth_exec)
    capture(arguments.neff, path)
    print(f"Profile captured: {path}")


def _view(arguments: argparse.Namespace) -> None:
    from neuron_sim.nki.measurement import program_file

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
        program_file.write_whole(path, json.dumps(document, indent=1).encode())
        print(f"Profile written to {path}")
    else:
        source = arguments.session_file or arguments.neff_path
        path = arguments.output_file or f"{os.path.splitext(source)[0]}.trace.json"
        program_file.write_whole(path, members["trace.json"].encode())
        print(f"View profile at https://ui.perfetto.dev: open {os.path.abspath(path)}")


def _give(text: str, path: str | None) -> None:
    from neuron_sim.nki.measurement.program_file import write_whole

    if path is None:
        print(text)
    else:
        write_whole(path, f"{text}\n".encode())


def summary_text(summary: dict[str, Any]) -> str:
    """Two columns, in alphabetical order."""
    width = max(map(len, summary))
    return "\n".join(f"{name.ljust(width)}  {_value(summary[name])}" for name in sorted(summary))


def _value(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def instructions(trace: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """The timed events of a Trace Event Format object, as the vendor's JSON has them: timestamp
    and duration in nanoseconds, label of the engine or queue, opcode, operands."""
    tracks = {
        (event.get("pid"), event.get("tid")): event["args"]["name"]
        for event in trace["traceEvents"]
        if event["ph"] == "M" and event["name"] == "thread_name"
    }
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            yield {
                "timestamp": round(float(event["ts"]) * 1000),
                "duration": round(float(event["dur"]) * 1000),
                "label": tracks.get((event.get("pid"), event.get("tid")), ""),
                "opcode": event["name"],
                "operands": event.get("args", {}),
            }
