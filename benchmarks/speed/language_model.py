"""The row of a language model in bf16 with two threads: a prompt, a token, and memory."""

from __future__ import annotations

import time
from typing import Any

import torch

from speed.figures import Figure, ratio
from speed.peaks import in_a_process, status_megabytes
from speed.sizes import Sizes
from speed.timing import seconds, set_threads

PROMPT = 128


def _model(sizes: Sizes) -> Any:
    """A Llama with random weights; 1.24 billion parameters in the sizes of the page."""
    # Here, because the other rows need not wait for it.
    import transformers

    config = transformers.LlamaConfig(**sizes.llama, dtype=torch.bfloat16)
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()


@torch.no_grad()
def _prompt_and_token(model: Any, device: str, repetitions: int) -> tuple[float, float]:
    """Wall seconds of a prompt, and of a token after it; the minimum of a few."""
    generator = torch.Generator().manual_seed(1)
    prompt = torch.randint(0, model.config.vocab_size, (1, PROMPT), generator=generator).to(device)
    prompts, tokens = [], []
    for _ in range(repetitions + 1):
        kept: dict[str, Any] = {}

        def read(kept: dict[str, Any] = kept) -> None:
            kept["cache"] = model(prompt, use_cache=True).past_key_values

        prompts.append(seconds(read, clock=time.perf_counter))
        for _ in range(3):
            tokens.append(
                seconds(
                    lambda kept=kept: model(prompt[:, :1], past_key_values=kept["cache"]),
                    clock=time.perf_counter,
                )
            )
    return min(prompts[1:]), min(tokens[3:])


def generating_language_model(sizes: Sizes) -> dict[str, float]:
    """The device first: its peak must not hold the host's copy."""
    set_threads(2, 2)
    before = status_megabytes("VmRSS")
    model = _model(sizes)
    weights = sum(each.numel() * each.element_size() for each in model.parameters()) / 1e6
    model = model.to("neuron_sim")
    prompt, token = _prompt_and_token(model, "neuron_sim", sizes.long_repetitions)
    peak = status_megabytes("VmHWM") - before
    host = _prompt_and_token(model.cpu(), "cpu", sizes.long_repetitions)
    return {
        "prompt": prompt,
        "token": token,
        "host prompt": host[0],
        "host token": host[1],
        "peak": peak,
        "weights": weights,
    }


def language_model(sizes: Sizes) -> list[Figure]:
    """In a fresh process."""
    found = in_a_process(generating_language_model, sizes)
    return [
        ratio("prompt", found["prompt"], found["host prompt"], "s", "wall time"),
        ratio("token", found["token"] * 1e3, found["host token"] * 1e3, "ms", "wall time"),
        ratio("memory", found["peak"], found["weights"], "MB"),
    ]
