"""A local copy of the Hugging Face hub with tiny random models under the names of public ones.

`python tools/public_scripts/hub.py FOLDER` writes the models of hub.toml in the layout of the hub's
cache, so that `from_pretrained`, `snapshot_download` and `hf_hub_download` find them with
`HF_HOME=FOLDER HF_HUB_OFFLINE=1`, and no script has to be changed. Its data sets are folders
`FOLDER/datasets/NAME`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import tomllib
from pathlib import Path
from typing import Any

MODELS = Path(__file__).with_name("hub.toml")
REVISION = "0" * 40
"""The commit of every model."""

SPECIAL = ("<pad>", "<cls>", "<eos>", "<unk>", "<mask>")


def write_hub(folder: Path, models: Path = MODELS) -> None:
    """Writes every model of the list that `folder` does not have yet.

    ValueError for an entry without `repository`; ImportError for a library that is not installed.
    """
    listed = tomllib.loads(models.read_text(encoding="utf-8"))
    for name, rows in listed.get("datasets", {}).items():
        (folder / "datasets" / name).mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(row) for row in rows]
        (folder / "datasets" / name / "train.jsonl").write_text("\n".join(lines))
    for model in listed["model"]:
        if "repository" not in model:
            raise ValueError(f"a model of {models} has no repository: {model}.")
        cache = folder / "hub" / f"models--{model['repository'].replace('/', '--')}"
        if (cache / "refs" / "main").is_file():
            continue
        snapshot = cache / "snapshots" / REVISION
        snapshot.mkdir(parents=True, exist_ok=True)
        for component in model.get("components", [model]):
            write_component(snapshot / component.get("folder", ""), component)
        for name, text in model.get("files", {}).items():
            (snapshot / name).write_text(text, encoding="utf-8")
        (cache / "refs").mkdir(exist_ok=True)
        (cache / "refs" / "main").write_text(REVISION)


def write_component(folder: Path, component: dict[str, Any]) -> None:
    """Saves one model, scheduler or tokenizer: `class` ("library:Name") built from `config`, with
    weights from a fixed seed, and `tokenizer`, the largest length of its texts."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    if "class" in component:
        module, _, name = component["class"].partition(":")
        of_class = getattr(importlib.import_module(module), name)
        config = component.get("config", {})
        make_config = getattr(of_class, "config_class", None)
        torch.manual_seed(0)
        built = of_class(make_config(**config)) if make_config else of_class(**config)
        built.save_pretrained(folder)
    if "tokenizer" in component:
        write_tokenizer(folder, component["tokenizer"])


def write_tokenizer(folder: Path, length: int) -> None:
    """Saves a tokenizer of bytes that puts <cls> before and <eos> after a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    symbols = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    tokenizer = Tokenizer(models.BPE(vocab=numbers, merges=[], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<cls> $0 <eos>", special_tokens=[(name, numbers[name]) for name in SPECIAL[1:3]]
    )
    roles = {f"{name[1:-1]}_token": name for name in SPECIAL}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=length, **roles)
    fast.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    fast.save_pretrained(folder)
    if not (folder / "config.json").exists():
        (folder / "config.json").write_text("{}")  # offline, transformers looks for it in vain
    described = folder / "tokenizer_config.json"
    settings = json.loads(described.read_text())
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    described.write_text(json.dumps(settings))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    write_hub(parser.parse_args().folder)


if __name__ == "__main__":
    main()
