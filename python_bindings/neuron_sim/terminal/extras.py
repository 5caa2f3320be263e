"""Optional packages: which extra of this package brings one that is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, requires

_NAME = "neuron_sim"
_EXTRA = re.compile(r"""([\w.-]+)[^;]*;.*\bextra\s*==\s*['"]([\w-]+)['"]""")


def extras_with(package: str) -> list[str]:
    """The extras of neuron_sim that install the package with this import name, in the order of
    pyproject.toml; none when no extra does or neuron_sim is not installed. The layer
    `neuron-sim-torch` stands for torch, which it needs."""
    try:
        requirements = requires(_NAME) or []
    except PackageNotFoundError:
        return []
    matches = (match for line in requirements if (match := _EXTRA.match(line)))
    names = (package, f"{_NAME}_{package}")
    return [match[2] for match in matches if match[1].replace("-", "_") in names]


def missing_package_sentence(error: ModuleNotFoundError, user: str = "") -> str | None:
    """What to install after this error; None unless a package of an extra is missing. Of several
    extras the one of that name, such as that of a command, else the first."""
    package = (error.name or "").partition(".")[0]
    extras = extras_with(package)
    if not extras:
        return None
    extra = user if user in extras else extras[0]
    told = f"the package '{package}' is not installed"
    return f'{told}; pip install "neuron-sim[{extra}]" installs it.'


@contextmanager
def explained(user: str = "") -> Iterator[None]:
    """An import in the block that misses a package of an extra fails with
    missing_package_sentence(), also where Python code called and not a command."""
    try:
        yield
    except ModuleNotFoundError as error:
        sentence = missing_package_sentence(error, user)
        if sentence is None:
            raise
        raise ModuleNotFoundError(sentence, name=error.name) from None
