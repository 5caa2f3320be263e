"""What the checker finds of defects that were seeded into small kernels, and what in right ones."""

from collections import Counter

import neuron_sim
import new_dataflow_cases  # noqa: F401 - adds its cases
import new_limit_cases  # noqa: F401
import new_memory_cases  # noqa: F401
import new_operand_cases  # noqa: F401
import new_order_cases  # noqa: F401
import new_result_cases  # noqa: F401
import old_loop_cases  # noqa: F401
import old_memory_cases  # noqa: F401
import pytest
from seeded import CASES, verdict

SHARE = 58 / 60  # of the defects that are found at their line


def test_the_corpus_has_both_languages_and_defects_of_synchronisation():
    languages = Counter(case.language for case in CASES)
    assert len(CASES) >= 66 and min(languages["old"], languages["new"]) >= 33
    assert sum(case.synchronises for case in CASES) >= 12
    assert all(case.lines() for case in CASES)


def test_58_of_60_defects_are_found_at_their_line():
    verdicts = {case.name: verdict(case) for case in CASES}
    counts = Counter(found for found, _ in verdicts.values())
    missed = "\n".join(
        f"{name}: {found}: {said}" for name, (found, said) in verdicts.items() if found != "line"
    )
    print(f"{len(CASES)} defects: {dict(counts)}\n{missed}")
    assert counts["line"] / len(CASES) >= SHARE, missed


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_corrected_kernel_has_no_finding(case):
    with neuron_sim.sanitize(raise_error=False, first_non_finite=True) as findings:
        case.run(False)
    assert not findings, "\n\n".join(map(str, findings))
