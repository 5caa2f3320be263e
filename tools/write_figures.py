#!/usr/bin/env python3
"""Writes figures and tables from their sources into README.md and the hand-written pages of docs/.

`<!--=NAME-->98<!--/-->` in a page is a figure of tools/figures.py; between `<!-- SOURCE: written by
tools/write_figures.py -->` and `<!-- end -->` stands a table of TABLES, with the day of its change.
Usage: write_figures.py [--check]; --check writes nothing and ends with 1 if a page is stale. Run it
after the tools that write docs/whole_models.md, docs/kernels.md and docs/performance.md.
"""

from __future__ import annotations

import csv
import datetime
import importlib
import io
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy
from figures import ROOT, figure
from neuron_sim.run.aliases import install

BLOCK = re.compile(
    r"(?P<begin><!-- (?P<source>[\w/.]+): written by tools/write_figures\.py -->\n)"
    r"(?P<rows>(?:\|[^\n]*\n)*)(?P<date>\nAs of [^\n]*\n)?(?P<end><!-- end -->)"
)
FIGURE = re.compile(r"<!--=(?P<name>[\w:.]+)-->(?P<value>[^<\n]*)<!--/-->")
Row = dict[str, str]


def table(page: str, column: str) -> list[Row]:
    """The rows of the first table of a page that has this column. ValueError if none has."""
    lines = page.splitlines()
    for number, line in enumerate(lines):
        header = cells(line)
        if column not in header:
            continue
        rows = []
        for row in lines[number + 2 :]:
            if not row.startswith("|"):
                break
            rows.append(dict(zip(header, cells(row), strict=True)))
        return rows
    raise ValueError(f"no table has the column '{column}'")


def cells(line: str) -> list[str]:
    """The cells of a row of a Markdown table; none for other lines."""
    if not line.startswith("|"):
        return []
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def best_of_each(
    rows: Iterable[Row], column: str, rank: Callable[[Row], float] = lambda _: 0
) -> list[Row]:
    """The row of the highest rank for each value of a column; of equal ones the first."""
    chosen: dict[str, Row] = {}
    for row in rows:
        best = chosen.setdefault(row[column], row)
        if rank(row) > rank(best):
            chosen[row[column]] = row
    return list(chosen.values())


def markdown(rows: Iterable[Row], columns: dict[str, str]) -> str:
    """A table with these columns, by their names in the rows; numbers are to the right."""
    rows = list(rows)
    out = ["| " + " | ".join(columns.values()) + " |\n"]
    number = re.compile(r"[+-]?[\d.,]+%?")
    right = [all(number.fullmatch(row[name]) for row in rows) for name in columns]
    out.append("|" + "|".join("---:" if numeric else "---" for numeric in right) + "|\n")
    out += ["| " + " | ".join(row[name] for name in columns) + " |\n" for row in rows]
    return "".join(out)


def page(name: str) -> str:
    """A generated page."""
    return (ROOT / name).read_text(encoding="utf-8")


def whole_models(text: str) -> str:
    """The first published row of each model: batch 1 where there is one."""
    names = ("model", "instance", "published ms", "simulated ms", "copies ms", "error")
    rows = best_of_each(table(text, "published ms"), "model")
    return markdown(rows, {name: name for name in names})


SHOWN_KERNELS = ("vector_add", "matmul", "conv2d_maxpool", "ffnn_forward")


def kernels(text: str) -> str:
    """The variant and shape of some custom ops that comes nearest to the peak on trn2."""
    columns = {"kernel": "kernel", "variant": "variant"}
    columns |= {f"{chip} us": f"{chip} us" for chip in ("trn1", "trn2", "trn3")}
    columns |= {"trn2 bottleneck": "bound by", "trn2 peak": "share of peak"}
    rows = [row for row in table(text, "trn2 peak") if row["kernel"] in SHOWN_KERNELS]
    best = best_of_each(rows, "kernel", lambda row: float(row["trn2 peak"].rstrip("%")))
    return markdown(best, columns)


def course_convolutions() -> str:
    """models/nki/conv2d.py in the cases of CS149's harness on trn2, beside its thresholds."""
    install()  # as `neuron-sim run` does
    sys.path.insert(0, str(ROOT / "models/nki"))
    kernel = importlib.import_module("conv2d").fused_conv2d_maxpool
    data = ROOT / "python_bindings/neuron_sim/fidelity/data/thresholds.toml"
    harnesses = tomllib.loads(data.read_text(encoding="utf-8"))["harness"]
    (harness,) = (harness for harness in harnesses if harness["arch"] == "trn2")
    channels, rows = harness["channels"], []
    for case in harness["cases"].values():
        image = numpy.zeros((1, channels, *case["image"]), case["dtype"])
        filters = numpy.zeros((channels, channels, 3, 3), case["dtype"])
        bias = numpy.zeros(channels, case["dtype"])
        latency = kernel.traced(image, filters, bias, case["pool"]).time()["latency_us"]
        size = " x ".join(map(str, case["image"]))
        rows.append(
            {
                "image": size,
                "dtype": case["dtype"],
                "pooling": str(case["pool"]),
                "simulated us": f"{latency:,.0f}",
                "threshold us": f"{case['bound']:,}",
            }
        )
    return markdown(rows, {name: name for name in rows[0]})


def differences() -> str:
    """What TorchNeuron does otherwise than torch."""
    text = page("tests/python/run/torch_neuronx/torchneuron_differences.toml")
    rows = tomllib.loads(text)["difference"]
    return markdown(
        rows, {"name": "what", "torch": "torch", "vendor": "TorchNeuron", "source": "source"}
    )


def surface() -> str:
    """The names of TorchNeuron that are not the same here, each with the reason."""
    text = page("tests/python/run/torch_neuronx/torchneuron_surface.csv")
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["verdict"] == "differs"]
    return markdown(rows, {"name": "name", "reason": "here"})


def public_scripts() -> str:
    """The scripts that the driver runs, by repository."""
    rows = tomllib.loads(page("tools/public_scripts/scripts.toml"))["script"]
    return markdown(
        sorted(rows, key=lambda row: row["repository"]),
        {"shows": "script", "repository": "repository", "path": "path"},
    )


def torch_versions() -> str:
    """What all Python tests gave with each pair of Python and torch."""
    stored = json.loads(page("tests/python/torch_versions.json"))
    rows = [{name: str(value) for name, value in row.items()} for row in stored]
    return markdown(rows, {name: name for name in rows[0]} | {"pair": "Python + torch"})


def advice() -> str:
    """What advice names first for public kernels, and what it promises."""
    rows = [
        {
            "kernel": f"{row['kernel']} ({row['arch']})",
            "first": row["first"] or "nothing",
            "named": {True: "yes", False: "no", None: ""}[row.get("named")],
        }
        | {name: f"{row[name]:,.1f}" if row.get(name) else "" for name in _ADVICE_TIMES}
        for row in json.loads(page("tools/advice/judged.json"))
    ]
    columns = {"kernel": "kernel", "first": "first line", "named": "named"} | _ADVICE_TIMES
    return markdown(rows, columns)


_ADVICE_TIMES = {
    "body_us": "us",
    "promised_us": "promised us",
    "changed_us": "changed us",
    "better_us": "author's us",
}

TABLES: dict[str, Callable[[], str]] = {
    "docs/whole_models.md": lambda: whole_models(page("docs/whole_models.md")),
    "docs/kernels.md": lambda: kernels(page("docs/kernels.md")),
    "tests/python/run/torch_neuronx/torchneuron_differences.toml": differences,
    "models/nki/conv2d.py": course_convolutions,
    "tests/python/run/torch_neuronx/torchneuron_surface.csv": surface,
    "tests/python/torch_versions.json": torch_versions,
    "tools/public_scripts/scripts.toml": public_scripts,
    "tools/advice/judged.json": advice,
}
"""A table by its source, as the blocks name it."""


def pages() -> list[Path]:
    """README.md and the pages of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def written(text: str, page: Path, today: datetime.date) -> str:
    """A page with its figures and tables. A table that stays as it is keeps its date.

    KeyError for a figure or a table that nothing defines.
    """

    def with_table(block: re.Match[str]) -> str:
        source, rows, date = block["source"], TABLES[block["source"]](), block["date"]
        if rows != block["rows"] or not date:
            link = "../" * len(page.parent.relative_to(ROOT).parts) + source
            date = f"\nAs of {today:%Y-%m-%d}, from [{source}]({link}).\n"
        return f"{block['begin']}{rows}{date}{block['end']}"

    def with_figure(place: re.Match[str]) -> str:
        return f"<!--={place['name']}-->{figure(place['name'])}<!--/-->"

    return FIGURE.sub(with_figure, BLOCK.sub(with_table, text))


def main() -> int:
    """Writes the pages; with --check ends with 1 if one is stale instead."""
    stale = []
    for path in pages():
        text = path.read_text(encoding="utf-8")
        new = written(text, path, datetime.date.today())
        if new != text:
            stale.append(path.name)
            if "--check" not in sys.argv[1:]:
                path.write_text(new, encoding="utf-8")
    if stale and "--check" in sys.argv[1:]:
        print(f"stale: {', '.join(stale)}; run tools/write_figures.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
