"""tools/core_coverage.py: what it counts."""

from collections import defaultdict
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"


@pytest.fixture
def core_coverage(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    import core_coverage

    return core_coverage


def test_a_line_ran_when_any_object_ran_it(core_coverage):
    lines = defaultdict(dict)
    for counts in ((0, 2), (0, 0), (1, 0)):
        entries = [{"line_number": i, "count": count} for i, count in enumerate(counts)]
        files = [{"file": str(core_coverage.ROOT / "ops" / "a.h"), "lines": entries}]
        files.append({"file": "/usr/include/b.h", "lines": entries})
        core_coverage.merge({"files": files, "current_working_directory": "/"}, lines)
    assert lines == {"ops/a.h": {0: True, 1: True}}
    assert core_coverage.share([{1: True, 2: False}, {7: True}]) == (2, 3, 200 / 3)
    assert core_coverage.share([])[2] == 0
