"""Damage to files: bytes, text, numbers in text, and values in JSON."""

from __future__ import annotations

import random
import re
from typing import Any

NUMBERS = ("0", "-1", "1", "1e-300", "1e308", "1e400", "-1e308", "nan", "inf", "-inf", "0.5",
           "9223372036854775807", "9223372036854775808", "-9223372036854775808", "4294967296",
           "2147483648", "1" * 400, "0x10", "1_000", "--1", "1.5.2", "true", "''", "[]", "{}",
           "1e-320", "32", "3", "127")  # fmt: skip
TEXTS = ("", " ", "\0", "é", "\U0001f600",
         "\u202e", "a" * 5000, "'", '"', "\n", "\\", "../../etc/passwd", "%s", "{}", "trn2",
         "\x1b[31m",
         "\ufeff")  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1.5, -0.0, 1e308, 10**30, -(10**30), float("nan"), float("inf"),
    [], {}, [[]], {"a": 1}, *TEXTS,
)  # fmt: skip
_NUMBER = re.compile(r"-?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?")


def damaged_bytes(source: random.Random, data: bytes) -> bytes:
    """Bits, bytes or stretches changed, removed, repeated or cut off."""
    result = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 8))):
        if not result:
            return bytes(result)
        way, place = source.randrange(6), source.randrange(len(result))
        if way == 0:
            result[place] ^= 1 << source.randrange(8)
        elif way == 1:
            result[place] = source.choice(b"\0\xff[]{}\"'=,\n -.e9")
        elif way == 2:
            del result[place : place + source.choice((1, 4, 50, len(result)))]
        elif way == 3:
            stretch = result[place : place + source.choice((1, 10, 200))]
            result[place:place] = stretch
        elif way == 4:
            result[place:place] = source.randbytes(source.choice((1, 4, 16)))
        else:
            result[place:place] = source.choice(TEXTS).encode()
    return bytes(result)


def other_numbers(source: random.Random, text: str) -> str:
    """Some numbers of a text become other ones, or no numbers."""
    places = list(_NUMBER.finditer(text))
    for match in sorted(
        source.sample(places, min(len(places), source.choice((1, 1, 2)))),
        key=lambda each: -each.start(),
    ):
        text = text[: match.start()] + source.choice(NUMBERS) + text[match.end() :]
    return text


def other_lines(source: random.Random, text: str) -> str:
    """Lines removed, repeated, exchanged or joined."""
    lines = text.split("\n")
    for _ in range(source.choice((1, 2))):
        place = source.randrange(len(lines))
        way = source.randrange(3)
        if way == 0 and len(lines) > 1:
            del lines[place]
        elif way == 1:
            lines.insert(place, source.choice(lines))
        else:
            lines[place] = lines[place][: source.randrange(len(lines[place]) + 1)]
    return "\n".join(lines)


def nested(source: random.Random) -> str:
    """Brackets within brackets, deeper than parsers like."""
    deep = source.choice((10, 500, 3000, 100_000))
    opening, closing = source.choice((("[", "]"), ('{"a":', "}"), ("{a=", "}")))
    return opening * deep + "1" + (closing * deep if source.random() < 0.7 else "")


def other_value(source: random.Random, document: Any) -> Any:
    """A JSON document with one value, somewhere, replaced, removed or added."""
    if isinstance(document, dict) and document and source.random() < 0.8:
        key = source.choice(list(document))
        changed = dict(document)
        way = source.random()
        if way < 0.1:
            del changed[key]
        elif way < 0.15:
            changed[source.choice(TEXTS)] = changed.pop(key)
        else:
            changed[key] = other_value(source, document[key])
        return changed
    if isinstance(document, list) and document and source.random() < 0.8:
        place = source.randrange(len(document))
        return [*document[:place], other_value(source, document[place]), *document[place + 1 :]]
    return source.choice(VALUES)
