"""--help: an example that parses, defaults, and exit codes of every command."""

import argparse
import re
import shlex

import pytest
from neuron_sim.command_line.parser import COMMANDS, build_parser
from neuron_sim.terminal.exit_codes import EXIT_CODES, exit_codes_of
from neuron_sim.terminal.help_text import default_of, help_of

EXAMPLE = re.compile(r"^  .*?(neuron-sim [^|>)\n]*)", re.MULTILINE)


def all_parsers(parser):
    for each in parser.commands.values():
        yield each
        yield from all_parsers(each)


PARSERS = list(all_parsers(build_parser()))


@pytest.mark.parametrize("parser", PARSERS, ids=lambda each: each.prog)
def test_every_command_has_examples_of_its_own_that_parse(parser):
    joined = parser.description.replace("\\\n", " ")
    examples = [each for each in EXAMPLE.findall(joined) if each.startswith(parser.prog)]
    assert examples
    for example in EXAMPLE.findall(joined):
        words = shlex.split(example)[1:]
        assert build_parser([words[0]]).parse_args(words).run


@pytest.mark.parametrize("parser", PARSERS, ids=lambda each: each.prog)
def test_the_help_tells_exit_codes_and_every_default_once(parser, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    text = parser.format_help()
    assert text.count("Exit codes: 0 success; ") == 1
    for action in parser.actions:
        if default_of(action) is not None:
            assert help_of(action) in text
            assert help_of(action).count("default") == 1
    assert "(default" not in text


def test_a_default_is_written_as_on_the_command_line():
    parser = argparse.ArgumentParser()
    for words, keywords, default in (
        (["--size"], {"default": 3}, "3"),
        (["--sizes"], {"default": [1, 2], "nargs": "+"}, "1 2"),
        (["--name"], {}, None),
        (["--over"], {"default": [], "action": "append"}, None),
        (["--flag"], {"action": "store_true"}, None),
        (["--no-flag"], {"action": "store_false", "dest": "cache"}, None),
        (["--way"], {"action": argparse.BooleanOptionalAction, "default": True}, "--way"),
        (["--other"], {"action": argparse.BooleanOptionalAction, "default": False}, "--no-other"),
        (["word"], {"nargs": "?", "default": "x"}, None),
    ):
        action = parser.add_argument(*words, help="what", **keywords)
        assert default_of(action) == default
        assert help_of(action) == ("what" if default is None else f"what; default: {default}")


def test_only_a_command_that_runs_something_tells_when_it_fails():
    assert exit_codes_of(None) == "Exit codes: 0 success; 2 wrong usage; 130 interrupted."
    told = exit_codes_of("a kernel failed")
    assert told == "Exit codes: 0 success; 1 a kernel failed; 2 wrong usage; 130 interrupted."
    assert all(str(code) in told for code in EXIT_CODES)


def test_the_list_of_commands_is_sorted():
    assert list(COMMANDS) == sorted(COMMANDS)
