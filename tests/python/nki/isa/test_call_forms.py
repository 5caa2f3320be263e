"""Every form in which public kernels call the functions of both languages is one of ours.

call_forms_new.txt and call_forms_old.txt count the forms in the Python files and notebooks of 18
public repositories with kernels; a form is the number of positional arguments and the names of the
others.
"""

import inspect
from collections import defaultdict
from pathlib import Path

import neuron_sim.neuronxcc.nki.isa as old_isa
import neuron_sim.neuronxcc.nki.language as old_language
import neuron_sim.nki.isa as new_isa
import neuron_sim.nki.language as new_language
import pytest
from neuron_sim.neuronxcc.nki.keywords import refuse

MODULES = {
    ("old", "isa"): old_isa, ("old", "language"): old_language,
    ("new", "isa"): new_isa, ("new", "language"): new_language,
}  # fmt: skip
#: Keywords that a function reads from its **kwargs.
READ = {"dma_transpose": ["dge_mode"], "nc_matmul": ["perf_mode"]}
#: Forms that the vendor refuses, and why.
REFUSED = {
    ("new", "scalar_tensor_tensor", "dtype"): "got an unexpected keyword argument 'dtype'",
    ("old", "iota", "offset"): "missing a required argument: 'dtype'",
}


def listed():
    """(language, module.function) -> its forms, (positional, names)."""
    forms = defaultdict(list)
    for language in ("new", "old"):
        text = Path(__file__).with_name(f"call_forms_{language}.txt").read_text()
        for line in text.replace("\n  ", "").splitlines()[1:]:
            function, positional, names, _ = line.split()
            forms[language, function].append((int(positional), names.strip("-").split(",")))
    return forms


FORMS = listed()


def refusal(language, function, positional, names) -> str:
    """Why a function does not take a form; empty when it does."""
    module, name = function.split(".")
    called = getattr(MODULES[language, module], name)
    given = [each for each in names if each and each not in READ.get(name, [])]
    try:
        bound = inspect.signature(called).bind(*[None] * positional, **dict.fromkeys(given))
        refuse(name, bound.arguments.get("kwargs", {}))
    except TypeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("language", "function"), FORMS)
def test_every_form_of_a_call_in_public_kernels_is_taken(language, function):
    for positional, names in FORMS[language, function]:
        reasons = [
            reason
            for (of, name, keyword), reason in REFUSED.items()
            if (of, name) == (language, function.split(".")[1]) and keyword in names
        ]
        assert refusal(language, function, positional, names) == "".join(reasons), names


def test_most_functions_of_both_languages_are_among_the_forms():
    for language, fewest in (("old", 70), ("new", 60)):
        assert len([of for of, _ in FORMS if of == language]) >= fewest


@pytest.mark.parametrize(("function", "positional"), [
    ("isa.tensor_copy", 1), ("isa.bn_stats", 1), ("language.load", 1), ("language.zeros", 2),
    ("language.exp", 1),
])  # fmt: skip
def test_a_misspelt_keyword_is_refused_by_name(function, positional):
    name = function.split(".")[1]
    assert refusal("old", function, positional, ["maks"]) == (
        f"{name}() got an unexpected keyword argument 'maks'"
    )
