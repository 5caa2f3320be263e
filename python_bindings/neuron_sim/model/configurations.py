"""Configurations of models in the format of `transformers`: ours, and files. Imports no torch. A
model type alone is the model of its class's defaults; other sizes of published prompt and token
programs have no file as source: weights agree with a token's bytes (docs/generation.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_CONFIGURATIONS = Path(__file__).with_name("configurations.json")


def configurations() -> dict[str, dict[str, Any]]:
    """Ours, by lower-case names without organisation."""
    return json.loads(_CONFIGURATIONS.read_text())


def base_name(model: str) -> str:
    """The name of a model without its organisation ("google/ViT-Base" is "vit-base")."""
    return model.rsplit("/", 1)[-1].lower()


def is_file(model: str) -> bool:
    """Whether a model is named by a configuration file."""
    return model.endswith(".json")


def read_configuration(file: Path) -> dict[str, Any]:
    """The fields of a configuration file; ValueError when it has none, OSError when there is no
    such file."""
    try:
        configuration = json.loads(file.read_text())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is not JSON: {error}.") from None
    if not isinstance(configuration, dict) or "model_type" not in configuration:
        raise ValueError(f"{file} is not a configuration of transformers: it has no 'model_type'.")
    return configuration


def configuration_of(model: str) -> dict[str, Any] | None:
    """The configuration of a name or a file; None for a model without one. Errors are those of
    read_configuration()."""
    if is_file(model):
        return read_configuration(Path(model))
    return configurations().get(base_name(model))
