"""Greedy generation with a cache of keys and values, on the device and on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from zoo.catalogue import gpt2, llama, tokens
from zoo.forward import DEVICE, Account, account_for

GENERATORS: dict[str, Callable[[], nn.Module]] = {"GPT-2": gpt2, "Llama": llama}
"""The networks of the catalogue that generate."""


@dataclass
class Generation:
    """Tokens after a prompt, by the device and by the CPU: int64 [prompts, all tokens]."""

    on_device: Tensor
    on_cpu: Tensor
    prompt_length: int
    account: Account

    def problem(self) -> str | None:
        """The problem, None if there is none."""
        if self.account.fallbacks:
            return f"falls back to the CPU: {self.account.fallbacks}"
        if not torch.equal(self.on_device.cpu(), self.on_cpu):
            return "the tokens are not the CPU's"
        return None


def generate(network: nn.Module, prompt: Tensor, new_tokens: int) -> Generation:
    """`new_tokens` after each row of `prompt` [prompts, length], the most probable every time."""

    def run(prompt: Tensor) -> Tensor:
        return network.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=False,
            max_new_tokens=new_tokens,
            use_cache=True,
            pad_token_id=0,
        )

    on_cpu = run(prompt)
    network.to(DEVICE)
    on_device, account = account_for(lambda: run(prompt.to(DEVICE)).cpu())
    return Generation(on_device, on_cpu, prompt.shape[1], account)


def generate_named(
    name: str, prompts: int = 2, length: int = 12, new_tokens: int = 20
) -> Generation:
    """With a network of GENERATORS and random prompts."""
    return generate(GENERATORS[name](), *tokens(prompts, length), new_tokens)
