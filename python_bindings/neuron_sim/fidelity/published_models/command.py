"""`neuron-sim model --published`: simulated latencies beside those that the vendor published."""

from __future__ import annotations

import argparse

from neuron_sim.fidelity.published_models import (
    generation,
    host_overhead,
    inference,
    programs,
    trends,
)
from neuron_sim.terminal.arguments import print_result
from neuron_sim.terminal.exit_codes import SUCCESS


def run(arguments: argparse.Namespace) -> int:
    """SUCCESS; ValueError for options that cannot be."""
    name = arguments.model
    if arguments.host_overhead:
        return _compare_with_host(name, arguments)
    generations = generation.compare(name, everywhere=arguments.arch is not None)
    generations += programs.compare(name, everywhere=arguments.arch is not None)
    rows = inference.compare(name) if name is None or not generations else []
    rows += generations

    def text() -> None:
        for figure in ("latency", "TTFT", "TPOT", "prompt", "token"):
            chosen = [row for row in rows if row.figure == figure]
            if chosen:
                print(inference.as_text(chosen))
        pairs = trends.trends(generations)
        if pairs:
            print(trends.as_text(pairs))

    print_result(arguments, inference.as_objects(rows), text)
    return SUCCESS


def _compare_with_host(model: str | None, arguments: argparse.Namespace) -> int:
    if model is not None:
        raise ValueError(f"--host-overhead is fitted to all published models, not to '{model}'.")
    rows = inference.compare()
    generations = generation.compare(everywhere=arguments.arch is not None)
    rows += [row for row in generations if row.figure == "TTFT"]
    overheads = host_overhead.fitted(rows)
    found = host_overhead.added(rows, overheads)
    left_out = host_overhead.left_out(rows)

    def text() -> None:
        for figure in dict.fromkeys(row.figure for row in found):
            print(inference.as_text([row for row in found if row.figure == figure]))
            error = inference.mean_absolute_error([r for r in left_out if r.figure == figure])
            print(f"each model with the constants of the others: mean absolute error {error:.0%}\n")
        for name, milliseconds in overheads.items():
            print(f"host of {name}: {milliseconds:.3f} ms (fitted)")

    fields = {"rows": inference.as_objects(found), "left_out": inference.as_objects(left_out)}
    print_result(arguments, {"overhead_ms": overheads, **fields}, text)
    return SUCCESS
