"""Choices made without an author, for synthetic kernels and for a small part of the suite."""

import pytest
from neuron_sim import command_line
from neuron_sim.fidelity import choices as model
from neuron_sim.fidelity import left_out_report
from neuron_sim.fidelity.leave_out import (
    PREFERRED,
    SWEEPS,
    Choice,
    Measured,
    leave_out_authors,
    overall_percent,
    preferred_near,
    refit,
)
from neuron_sim.fidelity.measurement import load_measurements
from neuron_sim.fidelity.retimed import RetimedCases, model_choices

RULE = Choice("rule", (0, 1), 1)
COST = Choice("core cost", (0.0, 10.0, 20.0), 20.0)
KERNELS = [
    Measured("a1", "a", 100.0),  # needs the rule
    Measured("a2", "a", 100.0),
    Measured("b1", "b", 120.0),  # has the cost
    Measured("b2", "b", 120.0),
    Measured("c1", "c", 100.0),  # has neither
]


def number(identifier, taken):
    """100, twice that without the rule for a's kernels, more by the cost for b's."""
    slow = 2.0 if identifier.startswith("a") and not taken["rule"] else 1.0
    return slow * 100.0 + (taken["core cost"] if identifier.startswith("b") else 0.0)


def test_a_choice_that_only_the_left_out_author_determines_becomes_neutral():
    found = {each.author: each for each in leave_out_authors([RULE, COST], KERNELS, number)}
    assert found["a"].chosen == {"rule": 0}
    assert found["a"].without_percent == {"a1": 100.0, "a2": 100.0}
    assert found["a"].with_percent == {"a1": 0.0, "a2": 0.0}
    assert found["b"].chosen == {"core cost": 0.0}
    assert found["b"].without_percent["b1"] == pytest.approx(-100 / 6)
    assert found["c"].chosen == {} and found["c"].without_percent == {"c1": 0.0}
    assert {each.training_percent for each in found.values()} == {0.0}


def test_the_overall_error_counts_every_kernel_once():
    found = list(leave_out_authors([RULE, COST], KERNELS, number))
    assert overall_percent(found) == pytest.approx((100 + 100 + 2 * 100 / 6 + 0) / 5)
    assert overall_percent(found, "with_percent") == 0.0


def test_the_search_finds_a_value_that_the_published_one_hides():
    kernels = [Measured("b1", "b", 110.0), Measured("b2", "b", 111.0)]
    taken = refit([COST], kernels, number=lambda name, taken: 100.0 + taken["core cost"])
    assert taken == {"core cost": 10.0}


def test_choices_that_need_each_other_are_found_in_a_second_round():
    first, second = Choice("first", (0, 1), 0), Choice("second", (0, 1), 0)
    asked = []

    def together(identifier, taken):
        asked.append(dict(taken))
        return {(0, 0): 130.0, (0, 1): 120.0, (1, 0): 140.0, (1, 1): 100.0}[
            taken["first"], taken["second"]
        ]

    assert refit([first, second], [Measured("x", "x", 100.0)], together) == {
        "first": 1,
        "second": 1,
    }
    assert len(asked) == SWEEPS * 4


def test_one_author_cannot_be_left_out():
    with pytest.raises(ValueError, match=r"all kernels are by \['c'\]: no other kernels choose"):
        list(leave_out_authors([RULE], KERNELS[-1:], number))


@pytest.mark.parametrize("value", [0.9, 22.0, 256.0, 13_500.0])
def test_preferred_numbers_reach_half_and_double_in_small_steps(value):
    near = preferred_near(value)
    assert near[0] <= 0.57 * value and near[-1] >= 1.78 * value
    ratios = [high / low for low, high in zip(near, near[1:], strict=False)]
    assert 1.1 < min(ratios) and max(ratios) < 1.15
    assert len(PREFERRED) == 20


@pytest.fixture(scope="module")
def retimed():
    """Small kernels of two authors on generation 2, with all choices of the model."""
    names = ("trn1-vadd-tiled-rc128-25600", "trn1-vadd-stream-fd2-25600", "inf2-dma-read-p128-f128")
    counted = [each for each in load_measurements() if each.id in names]
    of_model = model_choices(["trn1"])
    return RetimedCases(model.build(counted), of_model), of_model


def test_a_kernel_with_other_choices_is_timed_with_all_of_them(retimed):
    timed, of_model = retimed
    published = {each.name: each.published for each in of_model}
    identifier = "trn1-vadd-stream-fd2-25600"
    base = timed(identifier, published)
    no_launch = timed(identifier, published | {"trn1 launch.benchmark": 0.0})
    assert base - no_launch == pytest.approx(published["trn1 launch.benchmark"] * 1e-3)
    without = timed(identifier, published | {"rename_buffers": 0})
    both = timed(identifier, published | {"rename_buffers": 0, "trn1 launch.benchmark": 0.0})
    assert without - both == pytest.approx(published["trn1 launch.benchmark"] * 1e-3)
    assert without > 1.1 * base
    assert timed(identifier, published) == base


def test_choices_are_those_of_the_page(retimed):
    _, of_model = retimed
    names = [each.name for each in of_model]
    assert names[: len(model.rules())] == model.rules()
    assert all(name.startswith("trn1 ") for name in names[len(model.rules()) :])
    neutral = {each.name: each.candidates[0] for each in of_model}
    assert neutral.pop("trn1 dma.small_row") == 1
    assert neutral.pop("trn1 dma.bytes_per_nanosecond_store") == 1e6
    assert set(neutral.values()) == {0}


def test_every_candidate_of_a_value_can_be_timed(retimed):
    timed, of_model = retimed
    published = {each.name: each.published for each in of_model}
    for each in of_model[len(model.rules()) :]:
        for candidate in (each.candidates[0], each.candidates[-1]):
            assert timed("inf2-dma-read-p128-f128", published | {each.name: candidate}) > 0


def test_the_report_is_one_line_per_author():
    found = list(leave_out_authors([RULE, COST], KERNELS, number))
    result = left_out_report.report(found)
    text = list(left_out_report.lines(result))
    assert len(text) == 1 + 3 + 1
    assert text[1].split() == ["a", "2", "0.0", "100.0", "rule", "off"]
    assert text[2].endswith("core cost=0") and text[3].endswith("nothing")
    assert result["without_percent"] == pytest.approx(overall_percent(found), abs=1e-3)


def test_the_command_needs_authors_and_takes_no_checkouts(tmp_path, capsys):
    with pytest.raises(SystemExit):
        command_line.main(["fidelity", "--leave-one-author-out", "--sources", str(tmp_path)])
    assert "takes no --sources" in capsys.readouterr().err
    path = tmp_path / "left_out.json"
    command = ["fidelity", "--leave-one-author-out", "--family", "attention_trace"]
    assert command_line.main([*command, "--output", str(path)]) != 0
    assert "no other kernels choose" in capsys.readouterr().err
    assert not path.exists()
