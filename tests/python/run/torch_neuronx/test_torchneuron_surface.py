"""Every documented or publicly used name of TorchNeuron, with the device called `neuron`.

torchneuron_surface.csv has a row for each: `expression` is true where the row holds, `verdict` is
"same" or "differs", with a reason. A row that has come to hold is "same".
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from neuron_sim.torch_backend.vendor_environment import ACTING, INERT

HERE = Path(__file__).parent
with (HERE / "torchneuron_surface.csv").open(newline="") as file:
    ROWS = list(csv.DictReader(file))
EXECUTABLE = [row for row in ROWS if row["expression"]]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    file = tmp_path_factory.mktemp("surface") / "outcomes.json"
    command = [sys.executable, str(HERE / "surface_probe.py"), str(file)]
    others = {name: value for name, value in os.environ.items() if "NEURON" not in name}
    environment = {**others, "NEURON_SIM_DEVICE": "neuron"}
    subprocess.run(command, env=environment, check=True, timeout=900)
    return json.loads(file.read_text())


def test_the_file_has_every_row_once_with_a_verdict():
    assert len(ROWS) == 168
    assert len({(row["area"], row["name"]) for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert row["verdict"] in ("same", "differs"), row
        assert bool(row["reason"]) == (row["verdict"] == "differs"), row
        assert row["expression"] or row["verdict"] == "differs", row


@pytest.mark.parametrize("row", EXECUTABLE, ids=lambda row: f"{row['area']}: {row['name']}")
def test_a_row_has_the_verdict_that_the_simulator_gives(row, outcomes):
    outcome = outcomes[row["expression"]]
    assert (outcome is True) == (row["verdict"] == "same"), outcome


def test_variables_of_the_environment_have_the_reasons_of_their_table():
    for row in ROWS:
        if row["area"] == "environment":
            assert row["name"] in ACTING or row["reason"] == INERT[row["name"]], row["name"]
    assert not ACTING.keys() & INERT.keys()
