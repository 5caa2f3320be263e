"""Runs public scripts for device "neuron" as they are, from checkouts of pinned commits.

  python tools/public_scripts/run.py --mirror CLONES --scratch FOLDER [--only WORD] [--report FILE]

scripts.toml names them. Each runs under `neuron-sim run`, with the tiny models of hub.toml in the
place of the Hugging Face hub. A script passes when it ends with 0, prints what the list expects,
and has launched programs on the device.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checkout import git_directory, unpack
from hub import write_hub
from notebook import script_of

FOLDER = Path(__file__).resolve().parent
SCRIPTS = FOLDER / "scripts.toml"
ERROR = r"(\[rank\d+\]: ?)?(?!.*\bChildFailedError)[\w.]*(Error|Exception|Backend)\b"
"""The last line of a traceback, not of torchrun's own."""

LAUNCHES = r"neuron-sim run: ([\d,]+) launches"


@dataclass(frozen=True)
class Script:
    """One public script, as scripts.toml describes it."""

    name: str
    repository: str
    commit: str
    path: str
    shows: str
    """What it does, in a few words."""
    expects: str
    """A regular expression that its output matches."""
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    ranks: int = 0
    """Processes that torchrun starts; 0 without it."""
    module: str = ""
    """Run as `-m module` from `folder`, where the script is no file to run."""
    folder: str = ""
    """The working directory in the checkout; else that of the script."""
    unpack: tuple[str, ...] = ()
    """The paths of the commit that it needs; else the script's folder."""
    seconds: int = 600
    """The longest that it may take on the host."""

    @classmethod
    def read(cls, row: dict[str, Any], commits: dict[str, str]) -> Script:
        """The script of a row of the list. TypeError for an unknown or missing key."""
        values: dict[str, Any] = {
            key: tuple(x) if isinstance(x, list) else x for key, x in row.items()
        }
        return cls(commit=commits[row["repository"]], **values)


@dataclass(frozen=True)
class Outcome:
    """What a run of a script came to."""

    script: Script
    failure: str
    """Why it did not pass; empty when it did."""
    launches: int = 0
    """Of the first rank, as `neuron-sim run` sums them up."""
    simulated_ms: float = 0.0
    """The devices' clocks at the end, summed over the processes."""
    fallbacks: tuple[str, ...] = ()
    host_seconds: float = 0.0


def read_scripts(path: Path = SCRIPTS) -> list[Script]:
    """The scripts of a list, in its order. ValueError for a name that stands twice; TypeError for
    an unknown or missing key."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))
    repositories = rows["repositories"]
    scripts = [Script.read(row, repositories) for row in rows["script"]]
    names = [script.name for script in scripts]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{path} has two scripts of the name {name}.")
    return scripts


def command(script: Script, checkout: Path) -> list[str]:
    """The command line of a script: `neuron-sim run`, with torchrun's module for several ranks."""
    file = script_of(checkout / script.path)
    target = ["-m", script.module] if script.module else [str(file)]
    if script.ranks:
        launcher = ["torch.distributed.run", "--standalone", f"--nproc-per-node={script.ranks}"]
        target = ["-m", *launcher, *target]
    return ["neuron-sim", "run", *target, *script.arguments]


def run_script(script: Script, mirror: Path, scratch: Path) -> Outcome:
    """Unpacks a script and runs it; its output is kept in `scratch/output/NAME.txt`."""
    checkout = scratch / "checkouts" / script.name
    parent = str(Path(script.path).parent)
    wanted = script.unpack or (() if parent == "." else (parent,))
    unpack(git_directory(mirror, script.repository), script.commit, checkout, wanted)
    report = scratch / "output" / f"{script.name}.json"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    places = {"scratch": scratch, "stand_ins": FOLDER / "stand_ins"}
    own = {key: value.format(**places) for key, value in script.environment.items()}
    environment = {
        **os.environ,
        "HF_HOME": str(scratch / "hub"),
        "HF_HUB_OFFLINE": "1",
        "HOME": str(scratch / "home"),
        "PUBLIC_SCRIPTS_REPORT": str(report),
        **own,
    }
    paths = [str(FOLDER / "site"), *own.get("PYTHONPATH", "").split(":")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    arguments = [argument.format(**places) for argument in command(script, checkout)]
    start = time.perf_counter()
    with open(report.with_suffix(".txt"), "w+", encoding="utf-8", errors="replace") as output:
        code = exit_code(
            arguments,
            script.seconds,
            cwd=checkout / (script.folder or parent),
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        output.seek(0)
        text = output.read()
    lines = report.read_text().splitlines() if report.is_file() else []
    uses = [json.loads(line) for line in lines]
    simulated = sum(use["milliseconds"] for use in uses)
    fallbacks = sorted({operator for use in uses for operator in use["fallbacks"]})
    return Outcome(
        script,
        failure_of(script, code, text, simulated),
        sum(int(number.replace(",", "")) for number in re.findall(LAUNCHES, text)),
        simulated,
        tuple(fallbacks),
        time.perf_counter() - start,
    )


def exit_code(arguments: Sequence[str], seconds: float, **options: Any) -> int:
    """The exit code of a command; -1 when it and its children were killed after `seconds`."""
    process = subprocess.Popen(arguments, start_new_session=True, **options)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return -1


def failure_of(script: Script, code: int, text: str, simulated_ms: float) -> str:
    """Why a run with this exit code (-1: killed when its time was up), output and time on the
    device did not pass; empty when it did."""
    if code == -1:
        return f"not done after {script.seconds} s"
    if code:
        lines = [line for line in text.splitlines() if line.strip()] or [""]
        errors = [line for line in lines if re.match(ERROR, line)]
        return f"exit code {code}: {(errors or lines)[-1].strip()}"
    if not re.search(script.expects, text):
        return f"its output has no match of {script.expects}"
    if simulated_ms <= 0:
        return "nothing ran on the device"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the scripts that are asked for; 1 when one did not pass."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mirror", type=Path, required=True, help="folder of clones, owner+name")
    parser.add_argument("--scratch", type=Path, required=True, help="folder to write to")
    parser.add_argument("--scripts", type=Path, default=SCRIPTS, help="another list")
    parser.add_argument("--only", default="", help="only scripts with this word in their names")
    parser.add_argument("--report", type=Path, help="file for the outcomes as JSON lines")
    options = parser.parse_args(arguments)
    scripts = [script for script in read_scripts(options.scripts) if options.only in script.name]
    scratch = options.scratch.resolve()
    for folder in ("hub", "home"):
        (scratch / folder).mkdir(parents=True, exist_ok=True)
    write_hub(scratch / "hub")
    failed = 0
    for script in scripts:
        outcome = run_script(script, options.mirror.resolve(), scratch)
        failed += bool(outcome.failure)
        print(
            f"{script.name:32} {outcome.failure or 'passed'}  "
            f"[{outcome.launches:,} launches, {outcome.simulated_ms:.3f} ms simulated, "
            f"{outcome.host_seconds:.0f} s"
            + (f", on the CPU: {' '.join(outcome.fallbacks)}]" if outcome.fallbacks else "]"),
            flush=True,
        )
        if options.report:
            with open(options.report, "a", encoding="utf-8") as file:
                row = {
                    "name": script.name,
                    "repository": script.repository,
                    "commit": script.commit,
                    "path": script.path,
                    "failure": outcome.failure,
                    "launches": outcome.launches,
                    "simulated_ms": outcome.simulated_ms,
                    "fallbacks": outcome.fallbacks,
                    "host_seconds": outcome.host_seconds,
                }
                file.write(json.dumps(row) + "\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
