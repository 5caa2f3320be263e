"""tools/write_profile_docs.py: the page of profile fields, and that nothing is missing unsaid."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from neuron_sim import _core
from neuron_sim.nki.measurement.tables import SCHEMA, tables_of
from neuron_sim.nki.measurement.tables.summary import LEFT_OUT, summary_of
from recorded_programs import chain, product

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
tool = importlib.import_module("write_profile_docs")


def test_the_summary_has_every_metric_of_the_schema_that_is_not_left_out():
    summary = summary_of(tool.example())
    missing = [field.name for field in SCHEMA["Summary"] if field.name not in summary]
    assert missing and set(missing) == LEFT_OUT.keys()


def test_every_table_and_column_is_one_of_the_schema():
    tables = tables_of(tool.example())
    assert tables.keys() == SCHEMA.keys()
    for table, columns in tables.items():
        assert columns.keys() <= {field.name for field in SCHEMA[table]}, table
        assert len({len(values) for values in columns.values()}) == 1, table


PROGRAMS = {
    "empty": lambda: _core.Builder("empty", "trn2").finish(),
    "product": product,
    **{f"random {seed}": lambda seed=seed: chain(seed) for seed in (0, 1, 3)},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_which_columns_have_values_does_not_depend_on_the_program(name):
    program = PROGRAMS[name]()
    kernel = SimpleNamespace(program=program, time=program.time)
    expected = {table: set(columns) for table, columns in tables_of(tool.example()).items()}
    ours = {table: set(columns) for table, columns in tables_of(tool.profile_of(kernel)).items()}
    assert ours == expected
