"""Times rows of a suite in the environment of `neuron-sim run`: one JSON request a line, one reply.

The first request is the suite (rows.Suite with the folder of its checkout), the others rows. The
replies are those of published.worker.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from neuron_sim.fidelity.held_out.suite_call import prepare, suite_call
from neuron_sim.fidelity.published.worker import reply_of


def _module(suite: dict[str, Any]) -> ModuleType:
    prepare(Path(suite["folder"]), suite["paths"], suite["stand_ins"], suite["repairs"])
    return importlib.import_module(suite["file"].removesuffix(".py").replace("/", "."))


def times(module: ModuleType, row: dict[str, Any]) -> dict[str, Any]:
    """The reply to a row."""
    nki = importlib.import_module("nki")  # the alias of `neuron-sim run`
    call = suite_call(module, row["method"], row["parameters"])
    kernel = call.kernel if hasattr(call.kernel, "traced") else nki.jit(call.kernel)
    cores = row["cores"] or call.cores
    return reply_of(nki.benchmark(kernel)[cores].traced(**call.operands))


def main() -> None:
    """Replies on the original standard output; what kernels and tests print goes to stderr."""
    module: ModuleType | None = None
    for line in sys.stdin:
        reply: dict[str, Any] = {}
        with contextlib.redirect_stdout(sys.stderr):
            try:
                request = json.loads(line)
                if module is None:
                    module = _module(request)
                else:
                    reply = times(module, request)
            except Exception as error:  # a row that does not run fails one case
                sentence = str(error).split("\n", 1)[0]
                reply = {"reason": f"{type(error).__name__}: {sentence}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
