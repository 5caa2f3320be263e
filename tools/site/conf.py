"""Sphinx's settings for the site that `make docs` makes of the pages as they stand."""

import json
import logging
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
LISTS = ROOT / "docs" / "README.md"

project = "neuron_sim"
copyright = "neuron_sim's authors, Apache-2.0"
root_doc = "README"
include_patterns = [
    "README.md", "CONTRIBUTING.md", "docs/**.md", "tests/README.md", "benchmarks/README.md",
    "python_bindings/neuron_sim/fidelity/traces/README.md", "tools/site/*.md",
]  # fmt: skip
exclude_patterns = ["build", "dist", ".*", "tests/python", "tools/site/README.md"]
default_role = "code"
highlight_language = "none"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
autodoc_typehints = "description"
nb_execution_mode = "force"
nb_execution_show_tb = True  # a cell that fails is a warning, hence an error
nb_execution_in_temp = True
nb_execution_timeout = 120  # seconds of a cell
html_theme = "furo"
html_title = "neuron_sim"
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("tables.js", {"defer": "defer"})]

GROUP = re.compile(r"^\*\*([^*\n]+)\*\*\n((?:\n?[-\d ].*)+)", re.MULTILINE)
"""Readers and the pages for them, in docs/README.md."""
PAGE = re.compile(r"\]\((?:(\.\.)/)?([\w/]+)\.md\)")
"""A link to a page of the same folder, or of the one above."""
REFERENCE = [
    "docs/README", "tools/site/api", "tools/site/rules", "tools/site/cases",
    "python_bindings/neuron_sim/fidelity/traces/README",
]  # fmt: skip
"""That page itself, and pages that it does not list."""


def toctree(caption: str, pages: list[str]) -> str:
    """A part of the site's navigation."""
    lines = [":hidden:", f":caption: {caption}", *(f"/{page}" for page in pages)]
    return "\n```{toctree}\n" + "\n".join(lines) + "\n```\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    cells = ([str(cell).replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def rules_table() -> str:
    """The rules of kernels, by name."""
    file = ROOT / "python_bindings/neuron_sim/nki/legality/rules.toml"
    rules = tomllib.loads(file.read_text(encoding="utf-8"))
    heads = ("rule", "what", "remedy", "language", "versions", "enforced by", "judged")
    return table(heads, (
        (name, rule["summary"], rule.get("remedy", ""), ", ".join(rule["languages"]),
         rule.get("versions", ""), rule["enforced_by"], rule["judged"])
        for name, rule in rules.items()
    ))  # fmt: skip


def cases_table() -> str:
    """Measured kernels, in the order of their family."""
    stored = json.loads((ROOT / "docs/fidelity.json").read_text(encoding="utf-8"))
    heads = ("case", "family", "bound by", "measured us", "simulated us", "error %")
    return table(heads, (
        (case["id"], case["family"], case["kind"], f"{case['measured']:,.1f}",
         f"{case['simulated']:,.1f}", f"{case['error_percent']:+.1f}")
        for part in ("fidelity", "held_out")
        for case in stored[part]["cases"] if case["simulated"] is not None
    ))  # fmt: skip


TABLES = {"tools/site/rules": rules_table, "tools/site/cases": cases_table}
"""Pages that are a table."""


def add_table(_: Sphinx, name: str, source: list[str]) -> None:
    """Writes the table of a page of TABLES."""
    if name in TABLES:
        source[0] = source[0].replace("@TABLE@", TABLES[name]())


def add_navigation(_: Sphinx, name: str, source: list[str]) -> None:
    """The pages of docs/README.md are the navigation, in its order; so are those of tutorials."""
    if name == root_doc:
        for caption, links in GROUP.findall(LISTS.read_text(encoding="utf-8")):
            pages = [page if above else f"docs/{page}" for above, page in PAGE.findall(links)]
            source[0] += toctree(caption, pages)
        source[0] += toctree("Reference", REFERENCE)
    if name == "docs/tutorials/README":
        readers = LISTS.read_text(encoding="utf-8")
        pages = [f"docs/tutorials/{page}" for _, page in PAGE.findall(source[0])
                 if f"(tutorials/{page}.md)" not in readers]  # fmt: skip
        source[0] += toctree("Tutorials", pages)


def setup(app: Sphinx) -> None:
    """Called by Sphinx. Notebooks run with settings of their own, and tell only errors."""
    profile = Path(app.doctreedir) / "ipython/profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n", "utf-8")
    os.environ["IPYTHONDIR"] = str(profile.parent)
    logging.getLogger("traitlets").setLevel(logging.WARNING)
    app.connect("source-read", add_navigation)
    app.connect("source-read", add_table)
