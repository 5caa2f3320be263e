"""Parameters of nki.isa and neuronxcc.nki.isa: names, order and defaults are the vendor's."""

import inspect

import neuron_sim.neuronxcc.nki.isa as old
import neuron_sim.nki.isa as new
import pytest
from isa_functions import FUNCTIONS

NEW = {name: row.signature for name, row in FUNCTIONS.items() if row.signature is not None}
OLD = {name: row.old_signature for name, row in FUNCTIONS.items() if row.old_signature is not None}


def default(value):
    if hasattr(value, "builder_name"):
        return f"{type(value).__name__}.{value.name}"
    name = getattr(value, "__name__", None)
    return {"amax": "max"}.get(name, name) if name is not None else repr(value)


def written(function):
    """A signature as the rows write it."""
    parts, keywords = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            parts.append(f"**{parameter.name}")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keywords:
            parts.append("*")
            keywords = True
        text = parameter.name
        if parameter.default is not parameter.empty:
            text += f"={default(parameter.default)}"
        parts.append(text)
    return ", ".join(parts)


@pytest.mark.parametrize("name", NEW)
def test_parameters_of_the_new_language(name):
    assert written(getattr(new, name)) == NEW[name]


@pytest.mark.parametrize("name", OLD)
def test_parameters_of_the_old_language(name):
    """Those after `*` have no order; all functions take mask, dtype and the names of **kwargs."""
    made, vendor = ([*text.split("*, "), ""] for text in (written(getattr(old, name)), OLD[name]))
    assert made[0] == vendor[0]
    made, vendor = (set(text[1].split(", ")) - {""} for text in (made, vendor))
    assert vendor <= made <= vendor | {"mask=None", "dtype=None", "**kwargs"}


@pytest.mark.parametrize("module", [new, old])
def test_every_public_function_says_what_it_does(module):
    functions = [getattr(module, name) for name in module.__all__]
    functions = [each for each in functions if inspect.isfunction(each)]
    assert len(functions) >= 30
    assert [each.__name__ for each in functions if not inspect.getdoc(each)] == []
