"""The page of commands: that it is current, and that it tells of every option."""

import argparse
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from neuron_sim.command_line.parser import Parser, build_parser
from neuron_sim.terminal.exit_codes import EXIT_CODES

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
tool = importlib.import_module("write_command_docs")


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


def all_parsers(parser):
    for each in parser.commands.values():
        yield each
        yield from all_parsers(each)


def told(page, parser):
    """What the page has under the heading of a command."""
    return re.split(r"^##+ ", page.partition(f"# {parser.prog}\n")[2], flags=re.MULTILINE)[0]


def test_the_page_is_up_to_date(page):
    assert page == tool.page(), "docs/commands.md is stale; run tools/write_command_docs.py"


def test_a_stale_page_is_told_and_kept(tmp_path, monkeypatch, capsys):
    stale = tmp_path / "commands.md"
    monkeypatch.setattr(tool, "PAGE", stale)
    monkeypatch.setattr(sys, "argv", ["write_command_docs.py"])
    assert tool.main() == 0
    monkeypatch.setattr(sys, "argv", ["write_command_docs.py", "--check"])
    assert tool.main() == 0
    stale.write_text(stale.read_text() + "more")
    assert tool.main() == 1 and stale.read_text().endswith("more")
    assert "commands.md is stale; run tools/write_command_docs.py" in capsys.readouterr().err


def test_every_command_has_a_heading_and_every_option_a_row(page):
    for parser in all_parsers(build_parser()):
        assert len(re.findall(rf"^##+ {re.escape(parser.prog)}$", page, re.MULTILINE)) == 1
        text = told(page, parser)
        for action in parser.actions:
            for word in action.option_strings:
                shown = re.search(rf"^\| .*`{re.escape(word)}`", text, re.MULTILINE)
                assert bool(shown) != isinstance(action, argparse._HelpAction), (parser.prog, word)
        assert parser.commands or "Exit codes: 0 success; " in text


def test_every_exit_code_is_in_the_table(page):
    for code in EXIT_CODES:
        assert f"\n| {code} | " in page


def test_a_row_has_values_and_default():
    parser = Parser(prog="command")
    size = parser.add_argument("--size", choices=(1, 2), default=2, help="how | <large>")
    files = parser.add_argument("files", metavar="FILE", nargs="*", help="any")
    many = parser.add_argument("--many", nargs="+", metavar="N", required=True)
    assert tool._row(size) == "| `--size` | `1`, `2` | `2` | how \\| &lt;large> |\n"
    assert tool._row(files) == "| `FILE` |  |  | any |\n"
    assert tool._row(many) == "| `--many` N ... |  | required |  |\n"
    assert tool.synopsis(parser) == "command [OPTION ...] --many N ... [FILE ...]"


def test_the_tool_says_by_its_status_whether_the_page_is_current():
    command = [sys.executable, str(ROOT / "tools" / "write_command_docs.py"), "--check"]
    assert subprocess.run(command, check=False).returncode == 0
