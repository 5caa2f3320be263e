"""The JSON schema of the TOML files that describe a chip and a sweep, for editors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from neuron_sim import _core

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string", "minLength": 1}
_FACTOR: Schema = {
    "type": "string",
    "pattern": r"^\d+(\.\d*)?([eE][+-]?\d+)?x$",
    "description": 'A factor on the value of the base: "2x".',
}
_VALUE: Schema = {"type": ["number", "string", "boolean"]}
_GENERATION: Schema = {"type": "integer", "minimum": 1, "maximum": 1000}


def file_schema() -> Schema:
    """The schema (draft 7) of an architecture file, from the table of what it may state."""
    definitions = {field["key"]: _fact(field) for field in _core.architecture_file_keys()}
    for name, keys in _core.fact_groups().items():
        definitions[name] = {
            "description": f"{', '.join(keys)} together.",
            "anyOf": [{"type": "number", "exclusiveMinimum": 0}, _FACTOR],
        }
    facts = _table(definitions)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A chip of neuron_sim, and what is swept on it",
        **facts,
        "properties": _NAMES | facts["properties"] | {"sweep": _SWEEP},
        "definitions": definitions | {"facts": facts},
    }


_NAMES: Mapping[str, Schema] = {
    "base": {**_TEXT, "description": "The architecture of which only differences follow: "
             f"{', '.join(_core.architectures())}, or a TOML file beside this one."},
    "arch": {**_TEXT, "description": "Another name of base."},
    "name": {**_TEXT, "description": "What results call the chip; else the name of the file."},
    "neuron_core": {**_TEXT, "description": 'The core, such as "NeuronCore-v3".'},
    "generation": {**_GENERATION, "description": "2: trn1, 3: trn2, 4: trn3."},
    "override": {"$ref": "#/definitions/facts",
                 "description": "Older files have values alone here instead of at the top level."},
}  # fmt: skip

_SWEEP: Schema = {
    "type": "object",
    "description": "What `neuron-sim sweep` and `neuron-sim tune` time on this chip.",
    "properties": {
        "target": {**_TEXT, "description": "FILE.py:FUNCTION beside this file, or model:NAME."},
        "over": {
            "type": "object",
            "description": 'Parameters and their values: a list, or as on the command line: '
            '"128:512:128", "64:512:x2". arch is the chip, arch.KEY one of its facts.',
            "additionalProperties": {"$ref": "#/properties/sweep/definitions/values"},
        },
        "input": {
            "type": "object",
            "description": 'Array arguments of the kernel: "bfloat16[2048, K]".',
            "additionalProperties": _TEXT,
        },
    },
    "required": ["target"],
    "additionalProperties": False,
    "definitions": {
        "values": {
            "anyOf": [
                _VALUE,
                {"type": "array", "items": _VALUE, "minItems": 1},
                {
                    "type": "object",
                    "additionalProperties": {"$ref": "#/properties/sweep/definitions/values"},
                },
            ]
        }
    },
}  # fmt: skip


def _fact(field: Mapping[str, Any]) -> Schema:
    """The schema of one key: a value alone, a factor, or a table with the source."""
    value: Schema = {"type": field["form"]}
    if field["form"] != "boolean":
        value |= {"minimum": field["least"], "maximum": field["most"]}
    alone = [value] if field["form"] == "boolean" else [value, _FACTOR]
    table = {
        "value": value,
        "unit": {"const": field["unit"]},
        "source": _TEXT,
        "certainty": {"enum": _core.CERTAINTIES},
    }
    remarks = {"note": _TEXT, "date": _TEXT}
    remarks["generations"] = {"type": "array", "items": _GENERATION}
    return {
        "description": _meaning(field),
        "anyOf": [
            *alone,
            {
                "type": "object",
                "properties": table | remarks,
                "required": list(table),
                "additionalProperties": False,
            },
        ],
    }


def _meaning(field: Mapping[str, Any]) -> str:
    """The unit, and what the default architecture has."""
    default = _core.DEFAULT_ARCHITECTURE
    unit = "" if field["unit"] == "1" else f" {field['unit']}"
    fact = _core.architecture_facts(default).get(field["key"])
    if fact is None:
        return f"Of every engine whose section does not state it{unit and ','}{unit}."
    return f"{default}: {fact['value']:g}{unit} ({fact['certainty']}: {fact['source']})."


def _table(keys: Iterable[str], prefix: str = "") -> Schema:
    """A table of what stands below a dotted prefix, nested or as quoted dotted keys."""
    properties: dict[str, Schema] = {}
    quoted: dict[str, Schema] = {}
    below = [key.removeprefix(prefix) for key in keys if key.startswith(prefix)]
    for rest in below:
        first, dot, _ = rest.partition(".")
        if dot:
            quoted[f"^{re.escape(rest)}$"] = {"$ref": f"#/definitions/{prefix}{rest}"}
            if first not in properties:
                properties[first] = _table(keys, f"{prefix}{first}.")
        else:
            properties[first] = {"$ref": f"#/definitions/{prefix}{rest}"}
    return {
        "type": "object",
        "properties": properties,
        "patternProperties": quoted,
        "additionalProperties": False,
    }
