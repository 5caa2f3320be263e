"""The result of leaving authors out, as one JSON object and as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from neuron_sim.fidelity.leave_out import LeftOut, overall_percent


def _mean(errors: Mapping[str, float]) -> float:
    return fmean(abs(error) for error in errors.values())


def report(left_out: Sequence[LeftOut]) -> dict[str, Any]:
    """By author: kernels, errors with and without them in the choices, and what was chosen."""
    authors = [
        {
            "author": each.author,
            "kernels": len(each.without_percent),
            "with_percent": round(_mean(each.with_percent), 3),
            "without_percent": round(_mean(each.without_percent), 3),
            "training_percent": round(each.training_percent, 3),
            "chosen": dict(each.chosen),
            "errors": {name: round(error, 3) for name, error in each.without_percent.items()},
        }
        for each in left_out
    ]
    return {
        "authors": authors,
        "kernels": sum(len(each.without_percent) for each in left_out),
        "with_percent": round(overall_percent(left_out, "with_percent"), 3),
        "without_percent": round(overall_percent(left_out), 3),
    }


def chosen_text(chosen: Mapping[str, float]) -> str:
    """ "fold_zeros off, trn1 dma.small_row=0": what was chosen otherwise than published."""
    texts = [
        f"{name}={value:g}" if " " in name else f"{name} off" for name, value in chosen.items()
    ]
    return ", ".join(texts) or "nothing"


def lines(report: Mapping[str, Any]) -> Iterable[str]:
    """The report as text: an author a line, then all kernels."""
    width = max(len(each["author"]) for each in report["authors"])
    yield f"{'author left out':<{width}} {'kernels':>7} {'with %':>7} {'without %':>9}  changed"
    for each in report["authors"]:
        yield (
            f"{each['author']:<{width}} {each['kernels']:>7} {each['with_percent']:>7.1f} "
            f"{each['without_percent']:>9.1f}  {chosen_text(each['chosen'])}"
        )
    yield (
        f"Mean absolute error of {report['kernels']} kernels: {report['with_percent']:.1f} % with "
        f"all choices, {report['without_percent']:.1f} % with choices made without their authors."
    )
