"""What one of the ranks that share a model has of an attention: heads, and rows of projections."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed import _functional_collectives as collectives

QUERIES = re.compile(r"(q|q_b|kv_b|query)_proj|wq|q")
KEYS = re.compile(r"(k|v|key|value)_proj|wk|wv|k|v")
PACKED = re.compile(r"qkv_proj|c_attn|Wqkv|query_key_value")

NONE = -1
"""The index of what is filled up with zeros."""


@dataclass(frozen=True)
class Rank:
    """One of the ranks that share a model, and the name of their process group."""

    index: int
    ranks: int
    group: str
    copies_keys: bool = False
    """Whether each head of queries has its own copy of its head of keys where the ranks do not
    divide those evenly, as in transformers-neuronx of SDK 2.18 (decoder.py, GQA.REPLICATED_HEADS);
    else a head of keys is copied for as many ranks as share it."""

    def reduced(self, part: Tensor) -> Tensor:
        """The sum over all ranks."""
        return collectives.all_reduce(part, "sum", self.group)

    def gathered(self, part: Tensor) -> Tensor:
        """The last dimension of all ranks side by side."""
        return collectives.all_gather_tensor(part, part.dim() - 1, self.group)

    def share(self, size: int) -> list[int]:
        """Its indices of `size`, as many as every rank has; NONE beyond the end."""
        length = math.ceil(size / self.ranks)
        start = self.index * length
        return [i if i < size else NONE for i in range(start, start + length)]


@dataclass(frozen=True)
class Heads:
    """Heads of an attention, all and those of a rank."""

    queries: int
    keys: int
    width: int
    rank: Rank

    @property
    def _are_copied(self) -> bool:
        return self.rank.copies_keys and self.keys % self.rank.ranks != 0

    @property
    def of_queries(self) -> list[int]:
        """The rank's; with all that share its heads of keys, where it has its own."""
        if self.keys < self.rank.ranks or self._are_copied:
            return self.rank.share(self.queries)
        return units(self.of_keys, self.queries // self.keys)

    @property
    def of_keys(self) -> list[int]:
        """The rank's; one that it shares with other ranks, where there are fewer than ranks."""
        ranks = self.rank.ranks
        if self._are_copied:
            shared = self.queries // self.keys
            return [NONE if head == NONE else head // shared for head in self.of_queries]
        if self.keys < ranks:
            return [self.rank.index * self.keys // ranks]
        return self.rank.share(self.keys)

    def rows(self, name: str, size: int) -> list[int]:
        """The outputs of projection `name` that are this rank's, of `size`."""
        if QUERIES.fullmatch(name):
            return units(self.of_queries, size // self.queries)
        if KEYS.fullmatch(name):
            return units(self.of_keys, size // self.keys)
        if name == "query_key_value" and (self.keys > 1 or self.queries == 1):
            return units(self.of_keys, size // self.keys)
        queries, keys = self.queries * self.width, self.keys * self.width
        of_keys = units(self.of_keys, self.width)
        return [
            *units(self.of_queries, self.width),
            *moved(of_keys, queries),
            *moved(of_keys, queries + keys),
        ]


class AlibiOfRank:
    """Leaves an attention the rank's heads of ALiBi's biases, which the model makes for all."""

    def __init__(self, heads: Heads) -> None:
        self.queries = heads.queries
        self.own = [0 if head == NONE else head for head in heads.of_queries]

    def __call__(self, _: nn.Module, inputs: Any, options: dict[str, Any]) -> Any:
        alibi = options["alibi"]  # [B * heads, 1, tokens]
        if alibi is None:  # positions are rotations
            return inputs, options
        by_head = alibi.reshape(-1, self.queries, *alibi.shape[1:])
        # Slices: indices as data would be a gather on the device.
        own = torch.cat([by_head[:, i : i + 1] for i in self.own], 1)
        return inputs, {**options, "alibi": own.reshape(-1, *alibi.shape[1:])}


def units(units: Sequence[int], size: int) -> list[int]:
    """The indices of units of so many."""
    return [NONE if unit == NONE else unit * size + i for unit in units for i in range(size)]


def moved(indices: Sequence[int], offset: int) -> list[int]:
    """Indices behind so many others."""
    return [NONE if index == NONE else index + offset for index in indices]
