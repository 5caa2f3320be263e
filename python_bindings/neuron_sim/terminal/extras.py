"""Optional packages: which extra of this package brings one that is missing."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires

_EXTRA = re.compile(r"""([\w.-]+)[^;]*;.*\bextra\s*==\s*['"]([\w-]+)['"]""")


def extras_with(package: str) -> list[str]:
    """The extras of neuron_sim that install the package with this import name, in the order of
    pyproject.toml; none when no extra does or neuron_sim is not installed."""
    try:
        requirements = requires("neuron_sim") or []
    except PackageNotFoundError:
        return []
    found = (match for line in requirements if (match := _EXTRA.match(line)))
    return [match[2] for match in found if match[1].replace("-", "_") == package]


def missing_package_sentence(error: ModuleNotFoundError) -> str | None:
    """What to install after this error; None unless a package of an extra is missing."""
    package = (error.name or "").partition(".")[0]
    extras = extras_with(package)
    if not extras:
        return None
    return (
        f"the package '{package}' is not installed; pip install 'neuron_sim[{extras[0]}]' installs "
        "it."
    )
