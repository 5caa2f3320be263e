"""tools/site: the navigation of the site is that of docs/README.md, and notebooks run."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from neuron_sim.nki.legality.rules import rules as load_rules

pytest.importorskip("sphinx")
ROOT = Path(__file__).resolve().parents[3]
SPEC = importlib.util.spec_from_file_location("site_settings", ROOT / "tools/site/conf.py")
site = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(site)


def navigation(page):
    source = [(ROOT / f"{page}.md").read_text(encoding="utf-8")]
    before = len(source[0])
    site.add_navigation(None, page, source)
    return source[0][before:]


def test_every_page_of_the_lists_is_in_the_navigation_under_its_reader():
    added = navigation("README")
    listed = re.findall(r"^- \[[^]]+\]\(([^)]+)\.md\)", site.LISTS.read_text(), re.MULTILINE)
    assert len(listed) > 25
    for name in listed:
        page = name.removeprefix("../") if name.startswith("../") else f"docs/{name}"
        assert f"\n/{page}\n" in added
        assert (ROOT / f"{page}.md").is_file()
    assert re.findall(":caption: (.*)", added)[:2] == ["Student", "Kernel engineer"]


def test_tutorials_are_pages_below_their_list_and_other_pages_stay_as_they_are():
    added = navigation("docs/tutorials/README")
    assert "\n/docs/tutorials/matmul\n" in added and "student" not in added
    assert "\n/docs/tutorials/student\n" in navigation("README")
    assert navigation("docs/nki") == ""


def test_every_rule_and_every_measured_kernel_is_a_row_of_its_page():
    pages = {}
    for name in site.TABLES:
        source = [(ROOT / f"{name}.md").read_text(encoding="utf-8")]
        site.add_table(None, name, source)
        pages[name] = [line for line in source[0].splitlines() if line.startswith("| ")]
    rules, cases = pages["tools/site/rules"], pages["tools/site/cases"]
    assert len(rules) == len(load_rules()) + 2
    assert any(row.startswith("| PY-RAISE | no raise anywhere") for row in rules)
    stored = json.loads((ROOT / "docs/fidelity.json").read_text(encoding="utf-8"))
    counted = sum(stored[part]["overall"]["cases"] for part in ("fidelity", "held_out"))
    assert len(set(cases)) == len(cases) == counted + 2
    assert all(row.count(" | ") == rows[0].count(" | ") for rows in pages.values() for row in rows)


NOTEBOOK = """---
jupytext: {text_representation: {format_name: myst}}
kernelspec: {name: python3, display_name: Python 3}
---

# Page

```{code-cell} python
from pathlib import Path

print(6 * 7, [path.name for path in Path().iterdir()])
%s
```
"""


@pytest.mark.parametrize(("last", "code"), [("", 0), ("assert False, 'of this cell'", 1)])
def test_the_site_has_what_a_notebook_prints_and_fails_where_a_cell_does(last, code, tmp_path):
    (tmp_path / "page.md").write_text(NOTEBOOK % last, encoding="utf-8")
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "-c", ROOT / "tools/site"]
    options = ["-D", "root_doc=page", "-D", "include_patterns=page.md", tmp_path, tmp_path / "site"]
    built = subprocess.run([*sphinx, *options], capture_output=True, text=True)
    assert built.returncode == code, built.stderr
    if code == 0:
        assert ">42 []" in (tmp_path / "site/page.html").read_text(encoding="utf-8")
    else:
        assert "of this cell" in built.stderr
