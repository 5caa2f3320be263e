"""The word that somebody may have meant in place of a wrong one."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ " (did you mean X?)" with the nearest known word; empty when none is near."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def did_you_mean_file(path: str) -> str:
    """A suggestion for a file that does not exist: the nearest name in its folder."""
    folder, name = os.path.split(path)
    try:
        near = difflib.get_close_matches(name, os.listdir(folder or "."), n=1)
    except (OSError, ValueError):  # no such folder, or a path with a null character
        return ""
    return f" (did you mean {os.path.join(folder, near[0])}?)" if near else ""
