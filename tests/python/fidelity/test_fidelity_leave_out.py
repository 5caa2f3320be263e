"""Choices made without an author, for synthetic kernels and for a small part of the suite."""

from statistics import fmean

import pytest
import scipy.stats
from neuron_sim import command_line
from neuron_sim.fidelity import left_out_report
from neuron_sim.fidelity.leave_out import (
    PREFERRED,
    SWEEPS,
    Choice,
    Measured,
    is_gain,
    leave_out_authors,
    overall_percent,
    portions,
    preferred_near,
    refit,
)
from neuron_sim.fidelity.statistics import error_percent

RULE = Choice("rule", (0, 1), 1)
COST = Choice("core cost", (0.0, 10.0, 20.0), 20.0)
KERNELS = [
    Measured("a1", "a", 100.0), Measured("a2", "a", 100.0), Measured("b1", "b", 120.0),
    Measured("b2", "b", 120.0), Measured("c1", "c", 100.0),
]  # fmt: skip


def number(identifier, taken):
    """100, twice that without the rule for a's kernels, more by the cost for b's."""
    slow = 2.0 if identifier.startswith("a") and not taken["rule"] else 1.0
    return slow * 100.0 + (taken["core cost"] if identifier.startswith("b") else 0.0)


def numbers(asked):
    return [number(identifier, taken) for identifier, taken in asked]


def test_a_choice_that_only_the_left_out_author_determines_becomes_neutral():
    found = {each.author: each for each in leave_out_authors([RULE, COST], KERNELS, numbers)}
    assert found["a"].chosen == {"rule": 0}
    assert found["a"].without_percent == {"a1": 100.0, "a2": 100.0}
    assert found["a"].with_percent == {"a1": 0.0, "a2": 0.0}
    assert found["b"].chosen == {"core cost": 0.0}
    assert found["b"].without_percent["b1"] == pytest.approx(-100 / 6)
    assert found["c"].chosen == {} and found["c"].without_percent == {"c1": 0.0}
    assert {each.training_percent for each in found.values()} == {0.0}


def test_the_overall_error_counts_every_kernel_once():
    found = leave_out_authors([RULE, COST], KERNELS, numbers)
    assert overall_percent(found) == pytest.approx((100 + 100 + 2 * 100 / 6 + 0) / 5)
    assert overall_percent(found, "with_percent") == 0.0


def test_the_search_finds_a_value_that_the_published_one_hides():
    kernels = [Measured("b1", "b", 110.0), Measured("b2", "b", 111.0)]
    taken = refit(
        [COST], [kernels], lambda asked: [100.0 + taken["core cost"] for _, taken in asked]
    )
    assert taken == {"core cost": 10.0}


def test_choices_that_need_each_other_are_found_in_a_second_round():
    first, second = Choice("first", (0, 1), 0), Choice("second", (0, 1), 0)
    kernels = [Measured("x", "x", 100.0), Measured("y", "y", 99.0)]
    asked_for = []
    times = {(0, 0): 130.0, (0, 1): 120.0, (1, 0): 140.0, (1, 1): 100.0}

    def together(asked):
        asked_for.extend(taken for _, taken in asked)
        return [times[taken["first"], taken["second"]] for _, taken in asked]

    assert refit([first, second], [kernels], together) == {"first": 1, "second": 1}
    searched = 1 + SWEEPS * 2  # all as published, then each other candidate
    assert len(asked_for) == searched * len(kernels)


def rule_taken(errors_on, errors_off):
    """What becomes of a published rule with these errors of kernels of 100."""
    errors = {1: errors_on, 0: errors_off}
    kernels = [Measured(str(index), "a", 100.0) for index in range(len(errors_on))]
    return refit(
        [RULE],
        [kernels],
        lambda asked: [100.0 + errors[taken["rule"]][int(id)] for id, taken in asked],
    )["rule"]


@pytest.mark.parametrize(("loss", "taken"), [(1.1, 1), (0.9, 0)])
def test_a_choice_is_left_where_the_error_falls_by_more_than_its_standard_error(loss, taken):
    on, off = [6.0, 6.0, 6.0, 6.0 - loss], [5.0, 5.0, 5.0, 6.0]
    falls = [1.0, 1.0, 1.0, -loss]
    assert (scipy.stats.ttest_1samp(falls, 0.0).statistic > 1.0) == (taken == 0)
    assert rule_taken(on, off) == taken


def test_other_kernels_that_a_choice_leaves_alone_do_not_decide_about_it():
    for unmoved in (0, 10, 1000):
        same = [3.0] * unmoved
        assert rule_taken([6.0, 6.0, *same], [5.0, 5.9, *same]) == 0
        assert rule_taken([6.0, 6.0, *same], [5.0, 7.1, *same]) == 1


@pytest.mark.parametrize("unmoved", [0, 1, 3, 96])
def test_what_one_kernel_gains_is_no_reason_to_leave_a_choice(unmoved):
    same = [3.0] * unmoved
    assert rule_taken([50.0, *same], [0.0, *same]) == 1
    assert not is_gain({"x": 50.0}, {"x": 0.0})


def test_a_choice_that_is_worse_for_the_others_stays_though_it_concerns_few_of_them():
    assert rule_taken([1.0, 2.0], [1.5, 2.0]) == 1
    assert rule_taken([1.0, 2.0], [1.0, 2.0]) == 0, "they say nothing of it"


def exhaustive(choices, kernels):
    """The same search, every candidate timed with every kernel, by a t-statistic of scipy."""
    taken = {each.name: each.published for each in choices}
    for _ in range(SWEEPS):
        for choice in choices:
            errors = {
                value: [
                    abs(error_percent(each.value, number(each.id, {**taken, choice.name: value})))
                    for each in kernels
                ]
                for value in choice.candidates
            }
            bar = min(choice.candidates, key=lambda each: abs(each - taken[choice.name]))
            best = min(choice.candidates, key=lambda each: round(fmean(errors[each]), 9))
            falls = [now - then for now, then in zip(errors[bar], errors[best], strict=True)]
            gains = sum(fall != 0 for fall in falls) > 1
            if not (gains and scipy.stats.ttest_1samp(falls, 0.0).statistic > 1.0):
                present = fmean(errors[bar])
                best = next(each for each in errors if abs(fmean(errors[each]) - present) < 1e-9)
            taken[choice.name] = best
    return taken


@pytest.mark.parametrize("published", [0.0, 13.5, 20.0, 1000.0])
@pytest.mark.parametrize("without", ["a", "b", "c"])
def test_candidates_that_are_dropped_early_would_not_have_been_taken(published, without):
    choices = [RULE, Choice("core cost", COST.candidates, published)]
    kernels = [each for each in KERNELS if each.author != without]
    taken = exhaustive(choices, kernels)
    for some in ([kernels], [[each] for each in kernels], [kernels[::-1]], [[], kernels, []]):
        assert refit(choices, some, numbers) == taken


def test_a_candidate_is_dropped_before_the_kernels_that_cost_most_are_timed():
    asked_for = []

    def noted(asked):
        asked_for.extend((identifier, taken["rule"]) for identifier, taken in asked)
        return numbers(asked)

    refit([RULE], [KERNELS[:1], KERNELS[1:2]], noted)
    assert asked_for[:2] == [("a1", 1), ("a2", 1)]
    assert ("a1", 0) in asked_for and ("a2", 0) not in asked_for


def test_portions_have_all_kernels_in_their_order():
    for count in (1, 2, 7, 98):
        kernels = [Measured(str(index), "a", 1.0) for index in range(count)]
        assert [each for some in portions(kernels) for each in some] == kernels


def test_one_author_cannot_be_left_out():
    with pytest.raises(ValueError, match=r"all kernels are by \['c'\]: no other kernels choose"):
        leave_out_authors([RULE], KERNELS[-1:], numbers)


@pytest.mark.parametrize("value", [0.9, 22.0, 256.0, 13_500.0])
def test_preferred_numbers_reach_half_and_double_in_small_steps(value):
    near = preferred_near(value)
    assert near[0] <= 0.57 * value and near[-1] >= 1.78 * value
    ratios = [high / low for low, high in zip(near, near[1:], strict=False)]
    assert 1.1 < min(ratios) and max(ratios) < 1.15
    assert len(PREFERRED) == 20


def test_the_report_is_one_line_per_author():
    found = leave_out_authors([RULE, COST], KERNELS, numbers)
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
    with pytest.raises(SystemExit):
        command_line.main(["fidelity", "--leave-one-author-out", "--jobs", "0"])
    assert "--jobs 0: there must be at least one process" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command_line.main(["fidelity", "--results", str(tmp_path / "results.jsonl")])
    assert "--results and --jobs need --leave-one-author-out" in capsys.readouterr().err
    path = tmp_path / "left_out.json"
    command = ["fidelity", "--leave-one-author-out", "--family", "attention_trace"]
    assert command_line.main([*command, "--output", str(path)]) != 0
    assert "no other kernels choose" in capsys.readouterr().err
    assert not path.exists()
