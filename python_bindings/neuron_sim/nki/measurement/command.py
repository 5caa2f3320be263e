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
from neuron_sim.nki.measurement import program_file
from neuron_sim.nki.measurement.profile import trace_name
from neuron_sim.nki.measurement.tables.dma import transfer_table
from neuron_sim.nki.measurement.tables.instructions import instruction_table
from neuron_sim.nki.measurement.tables.run_profile import RunProfile
from neuron_sim.nki.measurement.views import page_of
from neuron_sim.terminal.arguments import add_command, add_commands
from neuron_sim.terminal.exit_codes import SUCCESS, WRONG_USAGE, reader_left

SUMMARY = "capture and view profiles of NKI kernels (neuron-profile)"

FORMATS = ("db", "perfetto", "parquet", "summary-text", "summary-json", "json")
DEFAULT_FORMAT = "db"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = add_commands(parser)
    capture = add_command(
        commands,
        "capture",
        "write the trace of a program",
        "neuron-sim profile capture -n file.neff -s profile.ntff",
    )
    capture.add_argument("-n", "--neff", required=True, metavar="FILE", help="program file")
    capture.add_argument(
        "-s", "--session-file", default="profile.ntff", metavar="FILE", help="trace file to write"
    )
    capture.add_argument(
        "--profile-nth-exec", type=int, default=1, metavar="N", help="names the file ..._exec_N"
    )
    view = add_command(
        commands,
        "view",
        "show a trace",
        "neuron-sim profile view -n file.neff -s profile.ntff --output-format summary-text",
    )
    view.add_argument("-n", "--neff-path", metavar="FILE", help="program file")
    view.add_argument("-s", "--session-file", metavar="FILE", help="trace file")
    form = view.add_mutually_exclusive_group()
    form.add_argument(
        "--output-format",
        choices=FORMATS,
        # argparse takes a value that is its default for one that was not given.
        help="db: the timeline as a page for a browser; perfetto: for https://ui.perfetto.dev; "
        f"parquet: the tables of neuron-explorer; default: {DEFAULT_FORMAT}",
    )
    form.add_argument(
        "--json",
        action="store_const",
        dest="output_format",
        const="summary-json",
        help="print the summary as JSON: --output-format summary-json",
    )
    view.add_argument("--output-file", metavar="FILE", help="where to write; of parquet, a folder")


def main(arguments: list[str] | None = None) -> int:
    """`neuron-profile` by itself."""
    parser = argparse.ArgumentParser(prog="neuron-profile", description=__doc__)
    add_arguments(parser)
    try:
        code = run(parser.parse_args(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        return reader_left()
    return code


def run(arguments: argparse.Namespace) -> int:
    """SUCCESS; WRONG_USAGE and one sentence on stderr for a file that is missing. ValueError for
    one that is not ours."""
    try:
        if arguments.command == "capture":
            _capture(arguments)
        else:
            _view(arguments)
    except BrokenPipeError:
        raise  # it has no file to name
    except OSError as error:
        print(f"neuron-profile: error: {error.filename}: {error.strerror}.", file=sys.stderr)
        return WRONG_USAGE
    return SUCCESS


def _capture(arguments: argparse.Namespace) -> None:
    session = Path(arguments.session_file)
    path = session.parent / trace_name(session.name, arguments.profile_nth_exec)
    program_file.capture(arguments.neff, path)
    print(f"Profile captured: {path}")


def _view(arguments: argparse.Namespace) -> None:
    if arguments.session_file is None and arguments.neff_path is None:
        raise ValueError("view needs a trace (-s) or a program (-n).")
    files = []
    if arguments.neff_path is not None:
        files.append(program_file.read(arguments.neff_path, program_file.PROGRAM))
    if arguments.session_file is not None:
        files.append(program_file.read(arguments.session_file, program_file.TRACE))
    if len(files) == 2:
        program_file.check_pair(*files)
    file, path = files[-1], arguments.output_file
    output_format = arguments.output_format or DEFAULT_FORMAT
    if output_format == "summary-text":
        _give(summary_text(file.summary), path)
    elif output_format == "summary-json":
        _give(json.dumps({file.kernel: file.summary}, indent=1), path)
    else:
        _write_timeline(file, output_format, path)


def _write_timeline(file: program_file.ProfileFile, output_format: str, path: str | None) -> None:
    """The formats that show more than the summary; they go to files."""
    stem = os.path.splitext(file.path)[0]
    if output_format == "perfetto":
        path = path or f"{stem}.pftrace"
        write_whole(path, file.members[program_file.PERFETTO])
        print(f"View profile at https://ui.perfetto.dev: open {os.path.abspath(path)}")
        return
    if output_format == "parquet":
        from neuron_sim.nki.measurement.parquet import arrow_tables, write_parquet  # an extra

        folder, tables = path or f"{stem}.parquet", file.view(arrow_tables)
        write_parquet(tables, folder)
        print(f"{len(tables)} tables written to {folder}")
    elif output_format == "json":
        path = path or "profile.json"
        entries = file.view(lambda profile: list(instructions(profile)))
        document = {"summary": [file.summary], "instruction": entries}
        write_whole(path, json.dumps(document, indent=1))
        print(f"Profile written to {path}")
    else:
        path = path or f"{stem}.html"
        write_whole(path, file.view(page_of))
        print(f"View profile at {Path(path).absolute().as_uri()}")


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


def instructions(profile: RunProfile) -> Iterable[dict[str, Any]]:
    """Instructions and transfers as the vendor's JSON has them: timestamp and duration in
    nanoseconds, label of the engine or queue, opcode, operands."""
    executed, moved = instruction_table(profile), transfer_table(profile)
    columns = ("start_ts", "duration_ns", "timeline_track", "opcode", "operands")
    for start, duration, label, opcode, operands in zip(
        *(executed[name] for name in columns), strict=True
    ):
        yield _entry(start, duration, label, opcode, operands)
    columns = ("start_ts", "duration_ns", "queue_name", "op", "variable")
    for start, duration, label, opcode, operands in zip(
        *(moved[name] for name in columns), strict=True
    ):
        yield _entry(start, duration, label, f"dma {opcode}", operands)


def _entry(start: Any, duration: Any, label: Any, opcode: Any, operands: Any) -> dict[str, Any]:
    return {
        "timestamp": int(start),
        "duration": int(duration),
        "label": str(label),
        "opcode": str(opcode),
        "operands": str(operands),
    }
