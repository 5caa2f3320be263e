"""Comments that cite docs/hardware_facts.md name facts that are there."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "hardware_facts.md").read_text(encoding="utf-8")


def test_every_citation_has_its_anchor():
    anchors = re.findall(r'<a id="([\w-]+)"></a>', PAGE)
    assert len(anchors) == len(set(anchors))
    cited = subprocess.run(
        ["git", "grep", "-hoE", r"hardware_facts\.md#[a-zA-Z0-9_-]+", "--", "device"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert {each.partition("#")[2] for each in cited} - set(anchors) == set()
