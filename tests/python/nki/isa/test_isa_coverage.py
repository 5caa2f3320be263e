"""Every function of nki.isa has an example, a limit and a cost, in its row or in a named test.

A named test must exist and use the function that it is said to test. An instruction of the device
without a row, or a row without one of the three, fails.
"""

import ast
import re
from pathlib import Path

import neuron_sim.neuronxcc.nki.isa as old_nisa
import pytest
from isa_functions import FUNCTIONS, by_suffix
from neuron_sim import _core

FOLDERS = [Path(__file__).parent, Path(__file__).parents[1] / "old_language"]
KINDS = ("example", "limit", "cost")


def in_row(kind, row):
    """What a row itself has of a kind."""
    return {"example": row.examples, "limit": row.limit, "cost": row.costs}[kind]


def sources(file):
    """Test -> its source with decorators; "" -> all else in the file, which tests use."""
    text = next(p for folder in FOLDERS if (p := folder / f"{file}.py").is_file()).read_text()
    lines, found, rest = text.splitlines(), {}, []
    for node in ast.parse(text).body:
        decorators = getattr(node, "decorator_list", [])
        first = decorators[0].lineno if decorators else node.lineno
        source = "\n".join(lines[first - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            found[node.name] = source
        else:
            rest.append(source)
    return {**found, "": "\n".join(rest)}


def proof(function, kind):
    """The source of the test that is named for a function, and what its file gives to it."""
    named = getattr(FUNCTIONS[function], f"{kind}_test")
    file, test, case = re.fullmatch(r"(\w+)::(\w+)(?:\[(\w+)\])?", named).groups()
    found = sources(file)
    assert test in found, f"{file} has no {test}"
    assert case is None or f'"{case}": (' in found[""], f"{file} has no case {case}"
    return found[test], found[""]


def test_every_instruction_of_the_device_has_a_row_and_every_row_an_instruction():
    assert set(FUNCTIONS) == {*_core.instructions(), *_core.compile_time_queries()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_function_has_one(kind):
    without = {
        name
        for name, row in FUNCTIONS.items()
        if not in_row(kind, row) and not getattr(row, f"{kind}_test")
    }
    assert without == set()


@pytest.mark.parametrize("kind", KINDS)
def test_the_named_tests_exist_and_use_their_functions(kind):
    named = [name for name, row in FUNCTIONS.items() if getattr(row, f"{kind}_test")]
    assert named
    for function in named:
        assert re.search(rf"\b{function}\b", "".join(proof(function, kind))), function


def test_functions_of_the_older_language_have_costs_there():
    for name, row in FUNCTIONS.items():
        if row.old_signature is None:
            continue
        assert hasattr(old_nisa, name)
        if not any(cost.old_body for cost in by_suffix(row.costs).values()):
            assert re.search(r"\bold", proof(name, "cost")[0]), name
