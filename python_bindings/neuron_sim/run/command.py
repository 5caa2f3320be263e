"""Run a Python script with NKI kernels as it is: `neuronxcc.nki` and `nki` are the simulator.

  neuron-sim run vec_add.py --kernel tiled --size 25600
  neuron-sim run --arch trn1 --profile traces vec_add.py --kernel stream --size 256000
  neuron-sim run --timeline out.html vec_add.py --kernel stream --size 256000
  neuron-sim run --clock simulated train.py
  neuron-sim run -m pytest test/unit

The script's arguments, exit code and tracebacks are as with `python SCRIPT`; of a kernel's error
the kernel's line comes first, without the simulator's own frames. Child processes see the same
packages, and `neuron-profile` runs the simulator's command. Where the vendor's packages are
installed they win, unless --override.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.machinery
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from neuron_sim import settings
from neuron_sim.run.environment import CLOCKS, script_environment
from neuron_sim.terminal.arguments import add_architecture, add_nki_version
from neuron_sim.terminal.suggestions import did_you_mean_file

SUMMARY = "run a script with NKI kernels as it is"
FAILS = "or any other: that of the script, as of `python SCRIPT`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_architecture(parser)
    parser.add_argument(
        "--device",
        choices=settings.DEVICE_NAMES,
        help="the name of the device in PyTorch ; else neuron_sim for a script that contains "
        "this name, and neuron for others",
    )
    parser.add_argument(
        "--sanitize",
        action="store_true",
        help="refuse kernels and operators that do what no chip defines",
    )
    parser.add_argument(
        "--legality",
        choices=settings.LEGALITY_LEVELS,
        help="what becomes of NKI kernels that the vendor's tools refuse: errors where its build "
        "was seen to (compiler) or where documents alone say so too (documented), or a line on "
        "stderr for each rule and place (warn, the default)",
    )
    add_nki_version(parser)
    _add_views(parser)
    parser.add_argument(
        "--eager",
        action="store_true",
        help="run instructions as they are traced: print() and debuggers show values of tiles",
    )
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        help="whose time the functions of Python's `time` tell the script: the host's, or the "
        "simulated time of what it launches",
    )
    parser.add_argument(
        "--override",
        action="store_true",
        help="the simulator's packages come before installed ones of the vendor",
    )
    parser.add_argument(
        "--full-traceback",
        action="store_true",
        help="show the frames of the simulator in the traceback of a kernel's error",
    )
    parser.add_argument(
        "-m", dest="module", action="store_true", help="SCRIPT is the name of a module"
    )
    parser.add_argument("script", metavar="SCRIPT", help="a Python file, or - for stdin")
    parser.add_argument(
        "arguments", metavar="ARGS", nargs=argparse.REMAINDER, help="given to the script"
    )


def _add_views(parser: argparse.ArgumentParser) -> None:
    """What is shown of the programs that run."""
    parser.add_argument(
        "--profile",
        metavar="DIR",
        help="write a page, the program and an index of every kernel that runs to this folder",
    )
    parser.add_argument(
        "--timeline",
        metavar="FILE",
        help="write the timeline of every kernel that runs as a page for a browser; the second one "
        "gets a number before its ending, and so on; of what torch launches, the longest programs",
    )
    parser.add_argument(
        "--advice",
        action="store_true",
        help="print to stderr what bounds every kernel, and what would help",
    )
    parser.add_argument(
        "--dump",
        metavar="PASS",
        help="print every program to stderr after this pass of the compiler; all: after each",
    )
    parser.add_argument(
        "--explain-memory",
        action="store_true",
        help="print to stderr what fills SBUF and PSUM of every kernel, and what is spilled",
    )
    parser.add_argument(
        "--no-summary",
        action="store_true",
        help="do not say at the end on stderr what torch launched, and how long it took",
    )


def run(arguments: argparse.Namespace) -> int:
    """Replaces this process by the interpreter of the script. ValueError for a script that is not
    there; the interpreter would name itself."""
    _check_script(arguments.script, arguments.module)
    environment = script_environment(
        os.environ,
        device=arguments.device or os.environ.get(settings.DEVICE) or _device_of(arguments),
        architecture=arguments.arch,
        sanitize=arguments.sanitize,
        legality=arguments.legality or os.environ.get(settings.LEGALITY) or "warn",
        nki_version=arguments.nki_version,
        profile=arguments.profile,
        dump=arguments.dump,
        explain_memory=arguments.explain_memory,
        timeline=arguments.timeline,
        advice=arguments.advice,
        override=arguments.override,
        full_traceback=arguments.full_traceback,
        eager=arguments.eager,
        clock=arguments.clock,
        summary=not arguments.no_summary,
    )
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, script_command(arguments), environment)


def _device_of(arguments: argparse.Namespace) -> str:
    """neuron_sim where the text of the script says so, or that of a file or folder among its
    arguments (torchrun and pytest get scripts that way); else neuron."""
    own, vendors = settings.DEVICE_NAMES
    files = [_source_of_module(arguments.script) if arguments.module else arguments.script]
    files += [name.partition("::")[0] for name in arguments.arguments]
    return own if any(own in text for file in files for text in _texts(Path(file))) else vendors


def _source_of_module(name: str) -> str:
    """The file of a module; of a package, its __main__.py. It is not imported."""
    folder = Path(*name.split("."))
    for place in (os.getcwd(), *sys.path):
        for file in (folder.with_suffix(".py"), folder / "__main__.py"):
            if (Path(place) / file).is_file():
                return str(Path(place) / file)
    return ""


def _texts(path: Path) -> Iterator[str]:
    """The text of a Python file, or the texts of all Python files in a folder."""
    with contextlib.suppress(OSError):  # arguments that are no paths may be too long for one
        files = path.rglob("*.py") if path.is_dir() and path != Path() else [path]
        for file in files:
            if file.is_file():
                yield file.read_text(errors="replace")


def _check_script(script: str, is_module: bool) -> None:
    """ValueError for a file or module that Python cannot run because it is not there."""
    if is_module:
        top = script.partition(".")[0]
        places = [os.getcwd(), *sys.path]
        if top in sys.builtin_module_names or importlib.machinery.PathFinder.find_spec(top, places):
            return
        raise ValueError(f"there is no module '{script}'.")
    if script == "-":
        return
    path = Path(script)
    if not script or not path.exists():
        raise ValueError(f"there is no script '{script}'{did_you_mean_file(script)}.")
    if path.is_dir() and not (path / "__main__.py").exists():
        raise ValueError(f"'{script}' is a folder without __main__.py, not a script.")


def script_command(arguments: argparse.Namespace) -> list[str]:
    """The interpreter with this one's flags (-W, -X), then the script and its arguments."""
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    target = ["-m", arguments.script] if arguments.module else [arguments.script]
    return [sys.executable, *flags, *target, *arguments.arguments]
