"""A plugin of pytest that runs the tests first that say most of some words, and no others than
the first few. For mutants.py."""

import inspect
from collections import Counter

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nearest-words", default="", help="separated by spaces")
    parser.addoption("--nearest-tests", type=int, default=0, help="how many run")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Words of few tests say more, and further cases of a test less."""
    if not (words := config.getoption("--nearest-words").split()):
        return
    said = {}
    for item in items:
        if isinstance(item, pytest.Function):
            text = f"{item.nodeid}\n{inspect.getsource(item.function)}".lower()
            said[item] = [word for word in words if word in text]
    functions = {(item.function, word) for item, own in said.items() for word in own}
    common = Counter(word for _, word in functions)
    scores = {item: sum(1 / common[word] for word in own) for item, own in said.items()}
    cases: Counter[object] = Counter()
    for item in sorted(scores, key=lambda item: -scores[item]):
        scores[item] *= 0.8 ** cases[item.function]
        cases[item.function] += 1
    most = config.getoption("--nearest-tests")
    nearest = sorted(scores, key=lambda item: -scores[item])[:most]
    config.hook.pytest_deselected(items=[item for item in items if item not in nearest])
    items[:] = nearest
