"""Kernels of the suite with other choices: their numbers, and how often they are simulated."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from neuron_sim import _core
from neuron_sim.fidelity import choices as model
from neuron_sim.fidelity import retimed
from neuron_sim.fidelity.choices import write_trial
from neuron_sim.fidelity.measurement import load_measurements
from neuron_sim.fidelity.retimed import LAUNCH, RetimedCases, model_choices
from neuron_sim.sweep.results import Results

STREAM, READ = "trn1-vadd-stream-fd2-25600", "inf2-dma-read-p128-f128"
SOFTWARE = "trn2-vadd-stream-fd2-25600"  # GpSimd generates its descriptors
COUNTED = [each for each in load_measurements() if each.id in (STREAM, READ, SOFTWARE)]
CHOICES = model_choices(["trn1", "trn2"])
PUBLISHED = {each.name: each.published for each in CHOICES}


@pytest.fixture(scope="module")
def timed():
    """Small kernels of three authors, with all choices of the model."""
    return RetimedCases(COUNTED, CHOICES)


@pytest.fixture
def simulated(monkeypatch):
    """What is simulated meanwhile: kernels, rules that are off, values."""
    calls = []
    inner = retimed.time_variants

    def noted(measurement, off, values):
        calls.append((measurement.id, tuple(off), [tuple(each) for each in values]))
        return inner(measurement, off, values)

    monkeypatch.setattr(retimed, "time_variants", noted)
    return calls


def one(timed, identifier, **changed):
    """The number of a kernel with changed choices."""
    return timed([(identifier, PUBLISHED | changed)])[0]


def directly(identifier, off, values, folder):
    """The number of a kernel that is built, compiled and timed on its own."""
    (built,) = model.build([each for each in COUNTED if each.id == identifier])
    programs = [
        _core.compile_program(source, model.switched_off(settings, off))
        for source, settings in zip(built.sources, built.settings, strict=True)
    ]
    core = built.case.measurement.architecture
    trial = str(write_trial(folder, core, values))
    return built.case.number([program.time(architecture=trial) for program in programs])


def test_a_kernel_with_other_choices_is_timed_with_all_of_them(timed, tmp_path):
    values = {"launch.benchmark": (7000.0, "ns"), "dma.small_row_packet": (40.0, "ns")}
    changed = {f"trn1 {key}": value for key, (value, _) in values.items()}
    base = one(timed, STREAM)
    assert base == directly(STREAM, [], {}, tmp_path)
    without = one(timed, STREAM, rename_buffers=0)
    assert without == directly(STREAM, ["rename_buffers"], {}, tmp_path) > 1.1 * base
    both = one(timed, STREAM, rename_buffers=0, **changed)
    assert both == pytest.approx(directly(STREAM, ["rename_buffers"], values, tmp_path))
    assert one(timed, STREAM) == base


@pytest.mark.parametrize(
    ("identifier", "key"), [(STREAM, LAUNCH[0]), (SOFTWARE, LAUNCH[0]), (SOFTWARE, LAUNCH[1])]
)
def test_a_launch_that_costs_more_needs_no_simulation(timed, simulated, tmp_path, identifier, key):
    core = identifier.partition("-")[0]
    found = one(timed, identifier, **{f"{core} {key}": 3000.0})
    expected = directly(identifier, [], {key: (3000.0, "ns")}, tmp_path)
    assert found == pytest.approx(expected, rel=1e-12)
    assert all(values == [()] for _, _, values in simulated)


def test_choices_of_another_core_do_not_concern_a_kernel(timed, simulated):
    base = one(timed, READ)
    simulated.clear()
    assert one(timed, READ, **{"trn2 launch.benchmark": 0.0}) == base
    assert simulated == []


def test_choices_are_those_of_the_page():
    names = [each.name for each in CHOICES]
    assert names[: len(model.rules())] == model.rules()
    assert {name.partition(" ")[0] for name in names[len(model.rules()) :]} == {"trn1", "trn2"}
    neutral = {each.name: each.candidates[0] for each in CHOICES}
    assert neutral.pop("trn1 dma.small_row") == 1
    assert neutral.pop("trn1 dma.bytes_per_nanosecond_store") == 1e6
    assert set(neutral.values()) == {0}


def test_every_candidate_of_a_value_can_be_timed(timed):
    for each in CHOICES[len(model.rules()) :]:
        for candidate in (each.candidates[0], each.candidates[-1]):
            assert one(timed, READ, **{each.name: candidate}) > 0


def test_a_batch_compiles_a_kernel_once_for_all_values(simulated):
    timed = RetimedCases(COUNTED, CHOICES)
    packets = [PUBLISHED | {"trn1 dma.small_row_packet": value} for value in (10.0, 20.0, 30.0)]
    found = timed([(STREAM, each) for each in packets] * 2)
    assert len(simulated) == 1 and len(simulated[0][2]) == 3
    assert found[:3] == found[3:] and len(set(found)) == 3


def test_a_run_that_was_stopped_goes_on_with_what_it_had(simulated, tmp_path):
    path = tmp_path / "results.jsonl"
    asked = [(STREAM, PUBLISHED | {"rename_buffers": value}) for value in (1, 0)]
    with Results(path) as results:
        found = RetimedCases(COUNTED, CHOICES, results)(asked)
    assert len(simulated) == 2
    with Results(path) as results:
        assert RetimedCases(COUNTED, CHOICES, results)(asked) == found
        assert len(simulated) == 2
        RetimedCases(COUNTED, CHOICES, results)([(READ, PUBLISHED)])
    assert len(simulated) == 3


def test_an_executor_finds_the_same_numbers(timed):
    asked = [(each.id, PUBLISHED | {"schedule": value}) for each in COUNTED for value in (0, 1)]
    with ThreadPoolExecutor(2) as executor:
        assert RetimedCases(COUNTED, CHOICES, executor=executor)(asked) == timed(asked)


def test_kernels_come_in_the_order_of_their_instructions(timed):
    assert [each.id for each in timed.measured][0] == READ
    assert len(timed.measured) == len(COUNTED)
