"""Symbols of the vendor that are not here yet: an error that names them."""

import difflib


class NotThereYet(AttributeError):
    """A symbol that the vendor has and neuron_sim does not have yet."""


def missing_symbol(module, name, vendor, available):
    """The AttributeError for `module.name`: not there yet, or misspelt with a suggestion.

    vendor: names that only the vendor's module has; available: our names.
    """
    if name in vendor:
        return NotThereYet(f"'{module}.{name}' exists at the vendor but is not there yet.")
    close = difflib.get_close_matches(name, available, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    return AttributeError(f"module '{module}' has no attribute '{name}'.{hint}")
