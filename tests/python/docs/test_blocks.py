"""Every Python block of the README and some pages runs; claims are assertions in the blocks, and a
`text` block after one is what it prints. The blocks of a page run in order, in one process, in an
empty folder. Tutorials are notebooks, which `make docs` runs."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = ["README.md", "docs/clients.md"]
OPTIONAL = ("accelerate", "lightning")
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
FOLDERS = "device|ops|csrc|python_bindings|benchmarks|models|tools|tests|cmake"
TREE_PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")
#: Written by the build, or an example of a name; so is a path with "foo".
NO_PATHS = {"device/isa/list.h", "device/arch/trnN.toml", "tests/X/"}
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)")
END = "--- end of a block ---\n"


def blocks(page: str) -> list[re.Match[str]]:
    return list(BLOCK.finditer((ROOT / page).read_text(encoding="utf-8")))


def printed_by(code: list[str], folder: Path, device: str = "neuron_sim") -> list[str]:
    """What each of the blocks prints, run in order; `device` is the name of the device."""
    # A file, because the front ends read the source of kernels.
    text = f"print({END!r}, end='')\n".join([*code, ""])
    (folder / "page.py").write_text(text, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "page.py"], cwd=folder, env={**os.environ, "NEURON_SIM_DEVICE": device},
        capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.split(END)[:-1]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_the_blocks_of_a_page_run_and_print_what_stands_below(page, tmp_path):
    code = [block["code"] for block in blocks(page)]
    missing = [
        name
        for name in OPTIONAL
        if f"import {name}" in "".join(code) and importlib.util.find_spec(name) is None
    ]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    for block, printed in zip(blocks(page), printed_by(code, tmp_path), strict=True):
        if block["output"] is not None:
            assert printed == block["output"], block["code"]


def test_the_operator_of_the_readme_runs_under_the_vendors_name(tmp_path):
    first = blocks("README.md")[0]["code"].replace('"neuron_sim"', '"neuron"')
    (printed,) = printed_by([f"{first}\nprint(x.device)\n"], tmp_path, "neuron")
    assert printed.splitlines()[-1] == "neuron:0"


def test_the_page_of_the_vendors_device_runs_under_its_name(tmp_path):
    found = blocks("docs/torchneuron.md")
    printed = printed_by([block["code"] for block in found], tmp_path, "neuron")
    assert len(printed) >= 3
    for block, shown in zip(found, printed, strict=True):
        assert block["output"] in (None, shown), block["code"]


CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_tutorials_are_notebooks_that_end_with_a_timeline_and_all_are_listed():
    listed = LINK.findall((ROOT / "docs/tutorials/README.md").read_text(encoding="utf-8"))
    pages = {page.name for page in ROOT.glob("docs/tutorials/*.md")} - {"README.md"}
    assert pages == {link for link, _ in listed if "/" not in link}
    for page in pages - {"glossary.md"}:
        text = (ROOT / "docs/tutorials" / page).read_text(encoding="utf-8")
        cells = CELL.findall(text)
        assert text.startswith("---\njupytext: {text_representation: {format_name: myst}}\n"), page
        assert any("assert " in cell for cell in cells), page
        assert re.search(r"^(InlineTimeline|show)\(.*\)\n\Z", cells[-1], re.MULTILINE), page


def test_what_users_read_uses_the_public_interface():
    pages = [ROOT / "README.md", *ROOT.glob("docs/tutorials/*.md"), *ROOT.glob("models/**/*.py")]
    assert len(pages) > 20
    assert [page for page in pages if re.search(r"\b_core\b", page.read_text())] == []


def test_the_map_lists_every_page_once():
    links = LINK.findall((ROOT / "docs/README.md").read_text(encoding="utf-8"))
    listed = [target for target, _ in links]
    pages = [page.name for page in ROOT.glob("docs/*.md") if page.name != "README.md"]
    assert sorted(link for link in listed if "/" not in link) == sorted(pages)
    assert "tutorials/README.md" in listed


def test_the_map_of_the_tests_names_every_folder():
    named = re.findall(r"`(?:python/)?(\w+)/?`", (ROOT / "tests/README.md").read_text())
    sources = [
        *ROOT.glob("tests/*/*.cpp"),
        *ROOT.glob("tests/*/*.py"),
        *ROOT.glob("tests/*/*/*.py"),
    ]
    assert {source.parent.name for source in sources} - {"python"} <= set(named)


def anchors(text: str) -> set[str]:
    """What a link to a page may name: its headings as GitHub spells them, and ids."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    spelled = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
    return spelled | set(re.findall(r'<a id="([^"]+)"', text))


def test_links_within_the_repository_lead_to_files_and_headings():
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    pages = [ROOT / page for page in listed.stdout.split() if not page.startswith("tools/")]
    texts = {page: page.read_text(encoding="utf-8") for page in pages if page.is_file()}
    assert len(texts) > 50
    for page, text in texts.items():
        for target, anchor in LINK.findall(CODE.sub("", FENCE.sub("", text))):
            linked = (page.parent / target).resolve() if target else page
            assert linked.exists(), (page.name, target)
            assert not anchor or anchor in anchors(texts[linked]), (page.name, target, anchor)


def test_the_readme_is_read_in_minutes_and_begins_with_a_picture():
    words = (ROOT / "README.md").read_text(encoding="utf-8").split()
    assert len(words) <= 900
    assert words.index("![Timeline") < 100


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs"])
def test_paths_of_the_tree_in_pages_exist(page):
    pages = [ROOT / page] if page.endswith(".md") else sorted((ROOT / page).rglob("*.md"))
    missing = [
        (name.name, path)
        for name in pages
        for path in TREE_PATH.findall(name.read_text(encoding="utf-8"))
        if path not in NO_PATHS and "foo" not in path and not (ROOT / path).exists()
    ]
    assert missing == []


def test_pages_name_only_targets_of_the_makefile():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        named = re.findall(r"`make ([\w-]+)", page.read_text(encoding="utf-8"))
        assert set(named) <= targets, page.name
