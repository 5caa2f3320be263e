"""Keywords of the functions of the older language."""

#: Keywords that the vendor's functions take and that change nothing here: an index out of bounds is
#: an error in every `mode` of nl.load.
_IGNORED = frozenset({"instr_name", "lazy_initialization", "lowering", "mode", "name", "tile_name"})


def refuse(function, keywords):
    """TypeError for keywords that `function` does not have."""
    for keyword in keywords:
        if keyword not in _IGNORED and not keyword.startswith("_"):
            raise TypeError(f"{function}() got an unexpected keyword argument '{keyword}'")
