"""What help and the page of commands tell of an option beyond its own sentence."""

from __future__ import annotations

import argparse

_APPENDED = " (default: %(default)s)"
"""What some versions of Python add to the help of BooleanOptionalAction."""


def default_of(action: argparse.Action) -> str | None:
    """The default of an option as it is written on a command line; None for a flag, for a
    positional argument, and for an option without one."""
    if not action.option_strings or action.default in (None, argparse.SUPPRESS, []):
        return None
    if isinstance(action, argparse.BooleanOptionalAction):
        return action.option_strings[0 if action.default else 1]
    if action.nargs == 0:
        return None
    values = action.default if isinstance(action.default, list) else [action.default]
    return " ".join(map(str, values))


def sentence_of(action: argparse.Action) -> str:
    """Its help, without the default."""
    return (action.help or "").removesuffix(_APPENDED)


def help_of(action: argparse.Action) -> str:
    """Its help, with the default."""
    default = default_of(action)
    return sentence_of(action) + (f"; default: {default}" if default is not None else "")
