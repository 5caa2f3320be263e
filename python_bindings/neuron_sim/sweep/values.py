"""Parameters as the command line writes them."""

from __future__ import annotations

from neuron_sim.sweep.study import Value


def parse_parameter(text: str) -> tuple[str, tuple[Value, ...]]:
    """ "tile=128,256" or "tile=128:512:128" (both ends count) or "tile=64:512:x2" as name and
    values. ValueError for anything else."""
    name, equals, values = text.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise ValueError(f"'{text}' must be NAME=VALUE,... or NAME=FIRST:LAST:STEP.")
    found = tuple(value for part in values.split(",") for value in _parsed(part.strip(), text))
    if len({(type(value), value) for value in found}) < len(found):  # 1 is not true
        raise ValueError(f"'{text}' has a value twice.")
    return name.strip(), found


def _parsed(part: str, text: str) -> tuple[Value, ...]:
    if not part:
        raise ValueError(f"'{text}' has an empty value.")
    if part.count(":") == 2 and not part.endswith((".toml", ".py")):
        return _range(part, text)
    return (parse_value(part),)


def _range(part: str, text: str) -> tuple[int, ...]:
    first, last, step = part.split(":")
    factor = step.startswith("x")
    try:
        low, high, change = int(first), int(last), int(step.removeprefix("x"))
    except ValueError:
        raise ValueError(f"'{text}': a range is FIRST:LAST:STEP or FIRST:LAST:xFACTOR.") from None
    if change < (2 if factor else 1) or low > high or (factor and low < 1):
        raise ValueError(f"'{text}': the range {part} does not rise.")
    values = [low]
    while (following := values[-1] * change if factor else values[-1] + change) <= high:
        values.append(following)
    return tuple(values)


def parse_value(text: str) -> Value:
    """An int, a float, true or false, else the text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
