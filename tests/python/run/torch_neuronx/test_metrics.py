"""get_dynamo_metrics(), and the tables that are written when the process ends."""

import csv

import pytest
from neuron_process import run
from neuron_sim.torch_backend import metric_tables

GRAPHS = """
import torch
N = torch.neuron
function = torch.compile(lambda x: x + 1, backend="neuron", options={"model_name": "adder"})
print(N.get_dynamo_metrics())
function(torch.ones(2, device="neuron"))
function(torch.ones(2, device="neuron"))
(metrics,) = N.get_dynamo_metrics()
print(metrics.model_name, metrics.graph_name.startswith("adder_"), metrics.has_collectives)
print(metrics.graph_node_count > 0, metrics.torch_neuronx_compile_us > 0)
N.reset_dynamo_metrics()
print(N.get_dynamo_metrics())
function(torch.ones(3, device="neuron"))
"""


def test_a_graph_is_one_entry_and_one_line_of_its_table(tmp_path):
    variables = {
        "TORCH_NEURONX_ENABLED_METRIC_TABLES": " graph_stats,",
        "TORCH_NEURONX_METRICS_DIR": str(tmp_path),
        "RANK": "3",
    }
    assert run(GRAPHS, tmp_path, **variables) == [
        "[]",
        "adder True False",
        "True True",
        "[]",
    ]
    with (tmp_path / "metric_table_graph_stats_rank3.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["model_name"] == "adder"
    assert int(row["torch_neuronx_compile_us"]) > 0


def test_without_tables_or_graphs_nothing_is_written(tmp_path):
    folder = {"TORCH_NEURONX_METRICS_DIR": str(tmp_path)}
    run(GRAPHS, tmp_path, **folder)
    run("import torch", tmp_path, **folder, TORCH_NEURONX_ENABLED_METRIC_TABLES="graph_stats")
    assert not list(tmp_path.glob("*.csv"))


def test_another_table_is_an_error():
    name = {metric_tables.VARIABLE: "graph_stats,cache"}
    with pytest.raises(ValueError) as error:
        metric_tables.install(name)
    assert str(error.value).endswith("'cache' is no table; there is graph_stats.")
