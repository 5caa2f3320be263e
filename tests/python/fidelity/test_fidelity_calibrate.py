"""Calibration: parameters, fits that recover what is known, refusals, overlays, the command."""

import dataclasses
import tomllib

import numpy as np
import pytest
from neuron_sim import _core
from neuron_sim.fidelity.calibrate.cross_validation import cross_validate, overall
from neuron_sim.fidelity.calibrate.files import (
    FittedValue,
    check_overlay,
    hash_files,
    write_overlay,
    write_trial,
)
from neuron_sim.fidelity.calibrate.fit import fit
from neuron_sim.fidelity.calibrate.parameters import Parameter, named_parameters
from neuron_sim.fidelity.calibrate.problem import Block, Problem
from neuron_sim.fidelity.calibrate.sensitivity import sensitivities

SIZES = np.array([1.0, 2.0, 5.0, 10.0, 20.0, 50.0])


def hand_written():
    """The values that every fit starts from."""
    return _core.architecture_facts("handwritten/trn2")


def parameter(key, start=None, low=None, high=None):
    """A parameter of trn2 that may be halved or doubled."""
    fact = hand_written()[key]
    start = fact["value"] if start is None else start
    return Parameter(key, start, low or start / 2, high or start * 2, fact["unit"])


def block(model, group="family a", truth=None):
    """Log ratios of model(facts, size) to its value with some facts replaced by `truth`."""
    facts = {key: fact["value"] for key, fact in hand_written().items()}
    measured = np.array([model({**facts, **(truth or {})}, size) for size in SIZES])

    def residuals(file):
        now = {key: fact["value"] for key, fact in _core.architecture_facts(file).items()}
        return np.log([model(now, size) for size in SIZES] / measured)

    return Block(group, "latency", 0.1, residuals)


def affine(facts, size):
    """A launch and a rate."""
    return facts["launch.benchmark"] + 400 * size * facts["dma.packet"]


def test_a_fit_recovers_known_parameters():
    truth = {"launch.benchmark": 11000.0, "dma.packet": 4.2}
    parameters = [parameter("launch.benchmark"), parameter("dma.packet")]
    problem = Problem("trn2", parameters, [block(affine, truth=truth)])
    result = fit(problem, problem.groups)
    assert not result.refused
    for each, position in zip(parameters, result.positions, strict=True):
        assert each.value(position) == pytest.approx(truth[each.key], rel=1e-3)
        assert 0 <= result.standard_errors[each.key] < 0.01 * truth[each.key]


def test_a_value_beyond_its_bound_ends_at_the_bound():
    truth = {"launch.benchmark": 40000.0}
    known = parameter("launch.benchmark")
    problem = Problem("trn2", [known], [block(affine, truth=truth)])
    result = fit(problem, problem.groups)
    assert known.value(result.positions[0]) == pytest.approx(known.high, rel=1e-2)


def test_the_standard_error_is_that_of_least_squares():
    noise = np.random.default_rng(3).normal(0, 0.01, len(SIZES))
    truth = {"launch.benchmark": 9000.0, "dma.packet": 6.0}
    exact = block(affine, truth=truth)
    noisy = Block("family a", "latency", 0.1, lambda file: exact.residuals(file) + noise)
    problem = Problem("trn2", [parameter("launch.benchmark"), parameter("dma.packet")], [noisy])
    result = fit(problem, problem.groups)
    launch, packet = (
        each.value(position)
        for each, position in zip(problem.parameters, result.positions, strict=True)
    )
    total = launch + 400 * SIZES * packet
    change = np.stack([1 / total, 400 * SIZES / total]).T  # of the logarithm
    left = problem(result.positions)[0]
    covariance = left @ left / (len(SIZES) - 2) * np.linalg.inv(change.T @ change)
    for each, expected in zip(problem.parameters, np.sqrt(np.diag(covariance)), strict=True):
        assert result.standard_errors[each.key] == pytest.approx(expected, rel=0.05)


def test_a_parameter_without_effect_is_refused_by_name():
    idle = parameter("semaphore.same_engine")
    problem = Problem("trn2", [idle, parameter("dma.packet")], [block(affine)])
    result = fit(problem, problem.groups)
    assert result.refused == {"semaphore.same_engine": "no residual depends on it"}
    assert set(result.standard_errors) == {"dma.packet"}
    assert idle.value(result.positions[0]) == pytest.approx(idle.start)


def test_parameters_that_only_act_together_are_refused_but_for_one():
    def product(facts, size):
        return size * facts["dma.packet"] * facts["launch.benchmark"]

    parameters = [parameter("dma.packet"), parameter("launch.benchmark")]
    truth = {"dma.packet": 6.0}
    problem = Problem("trn2", parameters, [block(product, truth=truth)])
    result = fit(problem, problem.groups)
    ((refused, reason),) = result.refused.items()
    (kept,) = result.standard_errors
    assert {refused, kept} == {"dma.packet", "launch.benchmark"}
    assert reason == f"the data cannot tell it from {kept}"


def test_a_standard_error_beyond_the_range_is_refused_and_one_below_is_not():
    noise = np.array([0.3, -0.3, 0.3, -0.3, 0.3, -0.3])

    def weak(facts, size):
        return 4e6 + size * facts["launch.benchmark"]

    exact = block(weak)
    noisy = Block("family a", "latency", 0.1, lambda file: exact.residuals(file) + noise)
    problem = Problem("trn2", [parameter("launch.benchmark")], [noisy])
    result = fit(problem, problem.groups)
    assert not result.standard_errors
    assert "launch.benchmark" in result.refused
    assert result.refused["launch.benchmark"].startswith("its standard error ")
    assert " ns is larger than its range " in result.refused["launch.benchmark"]
    quiet = Block("family a", "latency", 0.1, lambda file: exact.residuals(file) + noise / 100)
    problem = Problem("trn2", [parameter("launch.benchmark")], [quiet])
    assert fit(problem, problem.groups).refused == {}


def test_as_many_parameters_as_residuals_are_too_many():
    whole = block(affine)
    one = Block("family a", "latency", 0.1, lambda file: whole.residuals(file)[:1])
    problem = Problem("trn2", [parameter("dma.packet")], [one])
    reason = "there are no more residuals than parameters"
    assert fit(problem, problem.groups).refused == {"dma.packet": reason}
    two = Block("family a", "latency", 0.1, lambda file: whole.residuals(file)[:2])
    problem = Problem("trn2", [parameter("dma.packet")], [two])
    assert fit(problem, problem.groups).refused == {}


def test_a_left_out_group_has_no_part_in_its_own_fit():
    # Family b was made with another packet time: a fit to a cannot know that.
    truth_a, truth_b = {"dma.packet": 5.3}, {"dma.packet": 10.6}

    def rate(facts, size):
        return size * facts["dma.packet"]

    blocks = [block(rate, "family a", truth_a), block(rate, "family b", truth_b)]
    problem = Problem("trn2", [parameter("dma.packet", low=1, high=20)], blocks)
    errors = {each.group: each for each in cross_validate(problem, fit(problem, problem.groups))}
    assert errors["family a"].left_out == pytest.approx(100, abs=5)  # a few steps only
    assert errors["family b"].left_out == pytest.approx(50, abs=3)
    assert errors["family a"].training < 60 and errors["family b"].training < 50
    listed = list(errors.values())
    assert overall(listed, "latency", "left_out") == pytest.approx(75, abs=3)
    assert overall(listed, "duration", "left_out") is None


def test_a_left_out_group_is_predicted_from_the_prior_not_from_the_hand_written_value():
    # Only family a depends on the launch overhead, whose hand-written value is right for it.
    def rate(facts, size):
        return size * facts["dma.packet"]

    launch = parameter("launch.benchmark")
    far = dataclasses.replace(launch, prior=launch.start * 1.5)
    blocks = [
        block(lambda facts, size: facts["launch.benchmark"], "family a"),
        block(rate, "family b"),
    ]
    for first, expected in ((launch, 0), (far, 50)):
        problem = Problem("trn2", [first, parameter("dma.packet")], blocks)
        errors = cross_validate(problem, fit(problem, problem.groups))
        assert [each.training for each in errors] == pytest.approx([0, 0], abs=0.1)
        assert errors[0].left_out == pytest.approx(expected, abs=0.1)
        assert errors[1].left_out == pytest.approx(0, abs=0.1)


def test_a_prior_outside_the_bounds_is_moved_to_the_nearest():
    near = dataclasses.replace(parameter("dma.packet"), prior=100.0)
    assert Problem("trn2", [near], [block(affine)]).prior == pytest.approx([1])


def test_a_single_group_cannot_be_left_out():
    problem = Problem("trn2", [parameter("dma.packet")], [block(affine)])
    (error,) = cross_validate(problem, fit(problem, problem.groups))
    assert error.left_out is None and error.residuals == len(SIZES)


def test_a_sensitivity_is_percent_per_percent():
    def power(facts, size):
        return size * facts["dma.packet"] ** 2

    blocks = [block(power, "family a"), block(affine, "family b")]
    problem = Problem("trn2", [parameter("dma.packet")], blocks)
    followed = sensitivities(problem, problem.start)["dma.packet"]
    assert followed.most == pytest.approx(2, rel=0.05) and followed.group == "family a"
    assert 1 < followed.mean < 2


def test_named_parameters_have_bounds_and_whole_numbers_are_refused(tmp_path):
    texts = ["dma.packet=4:7", "tensor.gate_up", "launch.profile"]
    (packet, gate, profile), refused = named_parameters("trn2", texts, tmp_path)
    assert (packet.low, packet.high, packet.unit) == (4, 7, "ns")
    assert (gate.low, gate.high) == (0.74, 0.94)
    assert (profile.low, profile.high) == (profile.start / 2, profile.start * 2)
    assert not refused
    _, refused = named_parameters("trn2", ["limits.partitions"], tmp_path)
    assert refused == {"limits.partitions": "it is a whole number"}


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["dma.paket"], "parameter 'dma.paket' is no value of architecture 'trn2'."),
        (["dma.packet=4"], "parameter 'dma.packet=4' is not of the form key=low:high."),
        (["dma.packet=a:b"], "parameter 'dma.packet=a:b' is not of the form key=low:high."),
        (["dma.packet=7:7"], "its bounds 7 and 7 leave no range."),
        (["dma.packet=7:9"], "parameter 'dma.packet' is 5.3, which is outside its bounds 7 and 9."),
        (["dma.packet", "dma.packet"], "parameter 'dma.packet' is named twice."),
        (["dma.packet=-1:9"], "'dma.packet.value'"),
    ],
)
def test_wrong_parameters_are_refused(texts, sentence, tmp_path):
    with pytest.raises(ValueError) as caught:
        named_parameters("trn2", texts, tmp_path)
    assert sentence in str(caught.value)


def test_without_names_the_unsure_times_and_rates_are_fitted(tmp_path):
    parameters, refused = named_parameters("trn2", [], tmp_path)
    facts = hand_written()
    keys = {each.key for each in parameters} | set(refused)
    assert {facts[key]["certainty"] for key in keys} <= {"fitted", "assumed"}
    assert not any(key.startswith(("limits.", "features.", "clocks.")) for key in keys)
    assert "launch.benchmark" not in keys or facts["launch.benchmark"]["certainty"] != "measured"


def test_an_overlay_is_the_result_of_one_fit_and_reads_as_an_architecture(tmp_path):
    path = tmp_path / "fitted" / "trn2.toml"
    options = {"source": "a test", "date": "2026-11-21", "data_hash": "abc"}
    write_overlay(path, "trn2", [FittedValue("dma.packet", 5.1, 0.01, "ns")], **options)
    wake = FittedValue("semaphore.wake.tensor.vector", 37.12345678, 2.0, "ns")
    drain = FittedValue("tensor.drain", 120.0, 0.56789, "ns")
    write_overlay(path, "trn2", [wake, drain], **options)
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    assert set(document) == {"semaphore", "tensor"}
    assert document["semaphore"]["wake"]["tensor"]["vector"]["value"] == 37.1235
    assert document["tensor"]["drain"] == {
        "value": 120.0,
        "unit": "ns",
        "certainty": "fitted",
        "standard_error": 0.568,
        **options,
    }
    user = tmp_path / "user.toml"
    user.write_text('base = "trn2"\n' + path.read_text(encoding="utf-8"), encoding="utf-8")
    fact = _core.architecture_facts(str(user))["tensor.drain"]
    assert (fact["value"], fact["certainty"], fact["standard_error"]) == (120, "fitted", 0.568)


def test_a_file_that_is_no_overlay_is_never_overwritten(tmp_path):
    path = tmp_path / "trn2.toml"
    for content in ('name = "trn2"\n', '[dma]\npacket = { value = 5, certainty = "measured" }\n'):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(ValueError, match="is not an overlay of fitted values"):
            check_overlay(path)
        assert path.read_text(encoding="utf-8") == content
    path.write_text("[dma\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"overlay '.*trn2.toml' cannot be read"):
        check_overlay(path)


def test_a_trial_changes_only_what_it_names(tmp_path):
    trial = write_trial(tmp_path, "trn2", {"dma.packet": (4.5, "ns")})
    before, after = (
        hand_written(),
        _core.architecture_facts(str(trial)),
    )
    changed = [key for key in before if before[key]["value"] != after[key]["value"]]
    assert changed == ["dma.packet"] and after["dma.packet"]["value"] == 4.5


def test_the_hash_follows_names_and_contents(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a")
    two.write_text("b")
    original = hash_files([one, two])
    assert hash_files([two, one]) == original
    two.write_text("c")
    assert hash_files([one, two]) != original
