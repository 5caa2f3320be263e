"""Times launches in the environment of `neuron-sim run`: one JSON request a line, one reply each.

A request is a launch with the folder of its checkout; the reply has `published`, `off` (times by
name, with and without the passes of the compiler) and `stack`, or `reason`. `without` of a request
names rules of the compiler; the reply has `without RULE` for each that the stack switches on.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuron_sim import _core
from neuron_sim.fidelity.published.loading import load


def _argument(value: Any) -> Any:
    """A declared array, without data, for {"dtype": ..., "shape": ...}; other values unchanged."""
    if not (isinstance(value, dict) and value.keys() == {"dtype", "shape"}):
        return value
    import neuronxcc.nki.language as nl  # the alias of `neuron-sim run`

    dtype = getattr(nl, value["dtype"])
    return type("DeclaredArray", (), {"shape": tuple(value["shape"]), "dtype": dtype})


def traced(launch: dict[str, Any]) -> Any:
    """The traced kernel of one request."""
    module = load(Path(launch["folder"]) / launch["file"], launch)
    kernel = getattr(module, launch["function"])
    is_new = type(kernel).__module__.startswith("neuron_sim.nki.")
    nki = importlib.import_module("nki" if is_new else "neuronxcc.nki")
    arguments = [_argument(each) for each in launch["arguments"]]
    benchmark = nki.benchmark(kernel, additional_compile_opt=launch["flags"])
    return benchmark.traced(*arguments, **launch["keywords"])


def _profile(timing: dict[str, Any], counters: dict[str, int]) -> dict[str, float]:
    """The figures of Measurement.profile, simulated."""
    busy = {
        f"{engine} busy us": share * timing["body_us"]
        for engine, share in timing["utilisation"].items()
    }
    return {key: counters[key] for key in ("hbm_read_bytes", "hbm_write_bytes")} | busy


def reply_of(kernel: Any, rules: Sequence[str] = ()) -> dict[str, Any]:
    """The times of a TracedKernel, as a reply has them, and those without single rules."""
    published = kernel.time()
    reply = {
        "published": published,
        "off": kernel.source.time(),
        "stack": kernel.stack,
        "profile": _profile(published, kernel.program.counters(kernel.log)),
    }
    settings = kernel.settings
    used = [rule for rule in rules if settings[rule]]
    without = {
        rule: _core.compile_program(kernel.source, settings | {rule: type(settings[rule])(0)})
        for rule in used
    }
    return reply | {
        f"without {rule}": program.time(log=kernel.log) for rule, program in without.items()
    }


def main() -> None:
    """Replies on the original standard output; what authors' files print goes to stderr."""
    for line in sys.stdin:
        with contextlib.redirect_stdout(sys.stderr):
            try:
                request = json.loads(line)
                reply = reply_of(traced(request), request["without"])
            except Exception as error:  # a kernel that does not run fails one case
                sentence = str(error).split("\n", 1)[0]
                reply = {"reason": f"{type(error).__name__}: {sentence}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
