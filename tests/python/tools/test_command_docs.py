"""The page of commands tells of every command."""

import importlib
import sys
from pathlib import Path

from neuron_sim.command_line.parser import Parser, build_parser
from neuron_sim.terminal.exit_codes import EXIT_CODES

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
tool = importlib.import_module("write_command_docs")


def test_every_command_and_exit_code_has_one_row():
    page = tool.page()
    parsers = list(tool.all_commands(build_parser()))
    assert len(parsers) > 15
    for parser in parsers:
        called = tool.synopsis(parser).replace("|", "\\|")
        assert page.count(f"\n| `{called}` |") == 1, parser.prog
    for code in EXIT_CODES:
        assert page.count(f"\n| {code} | ") == 1


def test_a_row_has_what_the_command_needs_its_sentence_and_its_first_example():
    text = "Count what\nthere is.\n\n  other\n  command \\\n      a | sort\n  command b\n\nMore."
    parser = Parser(prog="command", description=text)
    parser.add_argument("--size", choices=(1, 2), default=2, help="how large")
    parser.add_argument("--many", nargs="+", metavar="N", required=True)
    parser.add_argument("files", metavar="FILE", nargs="*")
    assert tool._row(parser) == (
        "| `command [OPTION ...] --many N ... [FILE ...]` | Count what there is. | "
        "`command a \\| sort` |"
    )
