"""The JSON schema of TOML files agrees with their reader: on files of the tree, on blocks of the
pages, and on files with one fault."""

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import neuron_sim
import pytest
from neuron_sim import _core
from neuron_sim.command_line import main
from neuron_sim.sweep.study_file import read_study
from neuron_sim.timeline.file_schema import file_schema

ROOT = Path(__file__).resolve().parents[3]
CHIPS = sorted(ROOT.glob("device/arch/*.toml"))
BLOCKS = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/profiling.md").read_text("utf-8"), re.S)
FACT = 'value = 1.2, unit = "GHz", source = "a test", certainty = "assumed"'


@pytest.fixture(scope="module")
def validator():
    schema = file_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def is_read(path):
    try:
        neuron_sim.architecture(path).facts  # noqa: B018 - it reads the file
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("file", CHIPS, ids=lambda file: file.stem)
def test_files_of_built_in_architectures_follow_it(validator, file):
    assert not list(validator.iter_errors(tomllib.loads(file.read_text("utf-8"))))


@pytest.mark.parametrize("block", BLOCKS)
def test_files_of_the_pages_follow_it_and_are_read(validator, tmp_path, block):
    (tmp_path / "page.toml").write_text(block)
    document = tomllib.loads(block)
    assert not list(validator.iter_errors(document))
    assert is_read(tmp_path / "page.toml")
    if "sweep" in document:
        assert read_study(str(tmp_path / "page.toml")).parameters


def test_the_pages_have_a_chip_and_a_sweep():
    assert sorted("sweep" in tomllib.loads(block) for block in BLOCKS) == [False, True]


@pytest.mark.parametrize(("lines", "is_right"), [
    ("clocks.vector = 1.2", True), ('"clocks.vector" = 1.2', True),
    ("clocks.vector = -1", False), ("clocks.vector = true", False),
    ('clocks.vector = "1.5x"', True), ('clocks.vector = "1.5"', False),
    ('clocks.vector = "-1x"', False), ("clocks.vector = 1000", True),
    ("clocks.vector = 1000.5", False), ("clocks.vektor = 1.2", False),
    ("dma.engines = 16", True), ("dma.engines = 16.5", False), ("dma.engines = 1025", False),
    ("features.clock_gating = false", True), ("features.clock_gating = 0", False),
    ('features.clock_gating = "2x"', False), ("engine.latency = 9", True),
    ('hbm.bandwidth = "2x"', True), ("hbm.bandwidth = false", False), ("hbm = 3", False),
    ("override.dma.engines = 8", True), ("override.dma.engine = 8", False),
    (f"clocks.vector = {{ {FACT} }}", True),
    (f"clocks.vector = {{ {FACT}, note = 'why', generations = [2] }}", True),
    (f"clocks.vector = {{ {FACT.replace('GHz', 'MHz')} }}", False),
    (f"clocks.vector = {{ {FACT.replace('assumed', 'guessed')} }}", False),
    (f"clocks.vector = {{ {FACT}, colour = 'red' }}", False),
    ("clocks.vector = { value = 1.2 }", False), ("generation = 0", False), ("name = ''", False),
    ("semaphore.wake.dma.tensor = 5", True), ("semaphore.wake.tensor.dma = 5", False),
])  # fmt: skip
def test_it_refuses_what_the_reader_refuses(validator, tmp_path, lines, is_right):
    (tmp_path / "chip.toml").write_text(f'base = "trn2"\n{lines}\n')
    document = tomllib.loads((tmp_path / "chip.toml").read_text())
    assert (is_read(tmp_path / "chip.toml"), validator.is_valid(document)) == (is_right, is_right)


@pytest.mark.parametrize("certainty", _core.CERTAINTIES)
def test_every_certainty_is_taken_by_both(validator, tmp_path, certainty):
    (tmp_path / "chip.toml").write_text(
        f'base = "trn2"\nclocks.vector = {{ {FACT.replace("assumed", certainty)} }}\n'
    )
    assert is_read(tmp_path / "chip.toml")
    assert validator.is_valid(tomllib.loads((tmp_path / "chip.toml").read_text()))


def test_the_command_prints_it_with_what_the_default_chip_has(capsys):
    assert main(["arch", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    fact = _core.architecture_facts("trn2")["clocks.tensor"]
    assert schema["definitions"]["clocks.tensor"]["description"] == (
        f"trn2: {fact['value']} GHz (documented: {fact['source']})."
    )
