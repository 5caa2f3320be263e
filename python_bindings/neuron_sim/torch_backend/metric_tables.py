"""The tables that TORCH_NEURONX_ENABLED_METRIC_TABLES asks for, written when the process ends."""

from __future__ import annotations

import atexit
import csv
import io
from collections.abc import Mapping
from dataclasses import astuple, fields
from pathlib import Path

from neuron_sim.files import write_whole
from neuron_sim.torch_compile.metrics import CompilationMetrics, get_dynamo_metrics

VARIABLE = "TORCH_NEURONX_ENABLED_METRIC_TABLES"
TABLES = ("graph_stats",)
"""Names of tables: `graph_stats` has a line for each graph of torch.compile."""

_FOLDER = "/tmp"  # the vendor's default


def install(environment: Mapping[str, str]) -> None:
    """Writes the tables of the variable at exit. ValueError for the name of another table."""
    names = [name.strip() for name in environment.get(VARIABLE, "").split(",") if name.strip()]
    for name in names:
        if name not in TABLES:
            raise ValueError(f"{VARIABLE}: '{name}' is no table; there is {', '.join(TABLES)}.")
    if names:
        folder = environment.get("TORCH_NEURONX_METRICS_DIR") or _FOLDER
        rank = environment.get("RANK", "0")
        path = Path(folder) / f"metric_table_graph_stats_rank{rank}.csv"
        atexit.register(write_graph_stats, path)


def write_graph_stats(path: Path) -> None:
    """Writes get_dynamo_metrics() as CSV; nothing where no graph was compiled. OSError."""
    metrics = get_dynamo_metrics()
    if not metrics:
        return
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(each.name for each in fields(CompilationMetrics))
    writer.writerows(map(astuple, metrics))
    write_whole(path, text.getvalue())
