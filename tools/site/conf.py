"""Sphinx's settings for the site that `make docs` makes of the pages as they stand."""

import logging
import os
import re
from pathlib import Path

from sphinx.application import Sphinx

LISTS = Path(__file__).resolve().parents[2] / "docs" / "README.md"

project = "neuron_sim"
copyright = "neuron_sim's authors, Apache-2.0"
root_doc = "README"
include_patterns = [
    "README.md", "CONTRIBUTING.md", "docs/**.md", "tests/README.md", "benchmarks/README.md",
    "python_bindings/neuron_sim/fidelity/traces/README.md", "tools/site/api.md",
]  # fmt: skip
exclude_patterns = ["build", "dist", ".*", "tests/python"]
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

GROUP = re.compile(r"^\*\*([^*\n]+)\*\*\n((?:\n?[-\d ].*)+)", re.MULTILINE)
"""Readers and the pages for them, in docs/README.md."""
PAGE = re.compile(r"\]\((?:(\.\.)/)?([\w/]+)\.md\)")
"""A link to a page of the same folder, or of the one above."""
REFERENCE = ["docs/README", "tools/site/api", "python_bindings/neuron_sim/fidelity/traces/README"]
"""That page itself, and pages that it does not list."""


def toctree(caption: str, pages: list[str]) -> str:
    """A part of the site's navigation."""
    lines = [":hidden:", f":caption: {caption}", *(f"/{page}" for page in pages)]
    return "\n```{toctree}\n" + "\n".join(lines) + "\n```\n"


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
