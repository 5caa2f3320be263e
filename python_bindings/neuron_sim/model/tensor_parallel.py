"""One rank's part of a language model of `transformers`, by rules on the names of its modules.

The rules are Megatron's, as NxD Inference shards: what reads the hidden state is split by columns,
what writes it by rows with an all-reduce after it. Heads of keys are replicated where there are
fewer than ranks, so that a rank has at least one. A model's own plan (`base_model_tp_plan` of its
configuration) says what the names do not.
"""

from __future__ import annotations

import copy
import fnmatch
import inspect
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from neuron_sim.model.heads import (
    KEYS,
    NONE,
    PACKED,
    QUERIES,
    AlibiOfRank,
    Heads,
    Rank,
    moved,
    units,
)

_COLUMNS = re.compile(r"(gate|up|gate_up|fc1|fc_in|c_fc|dense_h_to_4h|w1|w3|wi|linear1)(_proj)?")
_ROWS = re.compile(
    r"(o|out|down|c)_proj|fc2|fc_out|dense|dense_4h_to_h|w2|wo|linear2|attention\.output"
)
_WHOLE = re.compile(r"gate|router|q_a_proj|kv_a_proj_with_mqa|shared_expert_gate|rel_pos.*")
_HEAD_COUNTS = {"num_heads", "num_attention_heads", "n_head", "n_heads"}
_KEY_COUNTS = {"num_key_value_heads", "num_kv_heads", "kv_heads"}
_WIDTHS = {"split_size", "embed_dim", "hidden_size"}


class _Summed(nn.Module):
    """A module of which each rank computes a part; a bias is added after the sum."""

    def __init__(self, module: nn.Module, rank: Rank) -> None:
        super().__init__()
        self.module, self.rank = module, rank
        self.bias = getattr(module, "bias", None)
        if self.bias is not None:
            module.bias = None  # Conv1D adds what is there: see _linear()

    def forward(self, *inputs: Any, **options: Any) -> Tensor:
        total = self.rank.reduced(self.module(*inputs, **options))
        return total if self.bias is None else total + self.bias


class _Gathered(nn.Module):
    """The logits of all ranks' parts of the vocabulary."""

    def __init__(self, linear: nn.Module, vocabulary: int, rank: Rank) -> None:
        super().__init__()
        self.linear, self.vocabulary, self.rank = linear, vocabulary, rank

    def forward(self, x: Tensor) -> Tensor:
        return self.rank.gathered(self.linear(x))[..., : self.vocabulary]


class _SplitNorm(nn.Module):
    """RMSNorm over the heads of all ranks."""

    def __init__(self, weight: nn.Parameter, width: int, epsilon: float, rank: Rank) -> None:
        super().__init__()
        self.weight, self.width, self.epsilon, self.rank = weight, width, epsilon, rank

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        squares = self.rank.reduced(wide.square().sum(-1, keepdim=True))
        scaled = wide * torch.rsqrt(squares / self.width + self.epsilon)
        return self.weight * scaled.to(x.dtype)


def _taken(tensor: Tensor, dim: int, indices: Sequence[int]) -> nn.Parameter:
    """These indices of a dimension, zeros for NONE."""
    chosen = torch.tensor(indices, device=tensor.device)
    part = tensor.detach().index_select(dim, chosen.clamp(min=0))
    if NONE in indices:
        is_given = (chosen != NONE).to(part.dtype)
        part = part * is_given.view([-1 if i == dim else 1 for i in range(part.dim())])
    return nn.Parameter(part, requires_grad=False)


def shard(model: Any, head: nn.Module | None, rank: Rank) -> None:
    """Leaves of the model what one rank has of it, in place, but for `head`, which makes logits.

    ValueError naming a module with weights of two dimensions for which there is no rule. Where
    there are fewer heads of keys than ranks, and the ranks do not divide evenly among them, only
    the shapes are those of the model.
    """
    plan = getattr(model, "tp_plan", None) or {}
    config = model.config
    attentions = {
        path: heads
        for path, module in model.named_modules()
        if (heads := _heads(module, getattr(module, "config", config), rank)) is not None
    }
    for path, heads in attentions.items():
        attention = model.get_submodule(path)
        _localise(attention, heads)
        if "alibi" in inspect.signature(attention.forward).parameters:
            attention.register_forward_pre_hook(AlibiOfRank(heads), with_kwargs=True)
    for path, module in list(model.named_modules()):
        parent_path, _, name = path.rpartition(".")
        if module is head:
            continue
        if isinstance(getattr(module, "down_proj", None), nn.Parameter):
            if not hasattr(module, "is_transposed"):
                raise _no_rule(path)
            _shard_experts(module, rank)
            model.set_submodule(path, _Summed(module, rank))
        elif is_product(module):
            rule = _rule(path, plan)
            owner = next((attentions[p] for p in _parents(path) if p in attentions), None)
            _shard_product(model, path, rule, owner, rank)


def _parents(path: str) -> list[str]:
    names = path.split(".")
    return [".".join(names[:end]) for end in range(len(names) - 1, 0, -1)]


def is_product(module: nn.Module) -> bool:
    """Whether a module multiplies by a matrix of weights."""
    weight = getattr(module, "weight", None)
    is_matrix = isinstance(weight, Tensor) and weight.dim() == 2
    return is_matrix and not isinstance(module, nn.Embedding)


def _rule(path: str, plan: dict[str, str]) -> str:
    name = path.rpartition(".")[2]
    for rule, pattern in (
        ("heads", QUERIES), ("heads", KEYS), ("heads", PACKED),
        ("whole", _WHOLE), ("columns", _COLUMNS), ("rows", _ROWS),
    ):  # fmt: skip
        if pattern.fullmatch(name):
            return rule
    for planned, style in plan.items():
        if fnmatch.fnmatch(path, f"*{planned}") and style in ("colwise", "rowwise"):
            return "columns" if style == "colwise" else "rows"
    raise _no_rule(path)


def _no_rule(path: str) -> ValueError:
    return ValueError(f"no rule says how ranks share the module '{path}'; ask with --tp 1.")


def _heads(module: nn.Module, config: Any, rank: Rank) -> Heads | None:
    """The heads of an attention; None for other modules."""
    if not any(p.fullmatch(name) for name, _ in module.named_children() for p in (QUERIES, PACKED)):
        return None
    queries = int(config.num_attention_heads)
    keys = getattr(config, "num_key_value_heads", None) or queries
    if getattr(config, "multi_query", False) and not getattr(config, "new_decoder_architecture", 0):
        keys = 1
    elif hasattr(config, "num_kv_heads"):
        keys = config.num_kv_heads if config.new_decoder_architecture else queries
    width = getattr(module, "head_dim", None) or config.hidden_size // queries
    return Heads(queries, int(keys), int(width), rank)


def _localise(attention: nn.Module, heads: Heads) -> None:
    """Counts of heads and what goes with heads, of this rank."""
    queries, keys = len(heads.of_queries), len(heads.of_keys)
    holders = [attention]
    if hasattr(attention, "config"):
        attention.config = copy.copy(attention.config)
        holders.append(attention.config)
    for holder in holders:
        for name in vars(holder).keys() & _HEAD_COUNTS:
            setattr(holder, name, queries)
        for name in vars(holder).keys() & _KEY_COUNTS:
            setattr(holder, name, keys)
    for name in vars(attention).keys() & _WIDTHS:
        if getattr(attention, name) == heads.queries * heads.width:
            setattr(attention, name, queries * heads.width)
    attention.kv_dim = keys * heads.width
    if hasattr(attention, "num_key_value_groups"):
        attention.num_key_value_groups = queries // keys
    for name, parameter in list(attention.named_parameters(recurse=False)):
        setattr(attention, name, _taken(parameter, 0, heads.of_queries))  # sinks
    for name, norm in list(attention.named_children()):
        weight = getattr(norm, "weight", None)
        if not isinstance(weight, Tensor) or "norm" not in name:
            continue
        chosen, count = (
            (heads.of_keys, heads.keys) if name.startswith("k") else
            (heads.of_queries, heads.queries)
        )  # fmt: skip
        if weight.dim() == 2:  # a row of each head
            norm.weight = _taken(weight, 0, chosen)
        elif weight.numel() == count * heads.width and count > 1:
            part = _taken(weight, 0, units(chosen, heads.width))
            epsilon = norm.variance_epsilon
            setattr(attention, name, _SplitNorm(part, weight.numel(), epsilon, heads.rank))


def _shard_product(model: nn.Module, path: str, rule: str, heads: Heads | None, rank: Rank) -> None:
    module: Any = model.get_submodule(path)
    name = path.rpartition(".")[2]
    is_transposed = type(module).__name__ == "Conv1D"  # of transformers: [inputs, outputs]
    outputs, inputs = (1, 0) if is_transposed else (0, 1)
    size = module.weight.shape[outputs]
    if rule == "whole":
        return
    if rule == "rows":
        size = module.weight.shape[inputs]
        own = rank.share(size)
        if heads is not None:
            own = units(heads.of_queries, size // heads.queries)
        module.weight = _taken(module.weight, inputs, own)
        model.set_submodule(path, _Summed(_linear(module), rank))
        return
    if rule == "heads" and heads is not None:
        own = heads.rows(name, size)
    elif name.startswith("gate_up"):
        half = rank.share(size // 2)
        own = [*half, *moved(half, size // 2)]
    else:
        own = rank.share(size)
    module.weight = _taken(module.weight, outputs, own)
    if module.bias is not None:
        module.bias = _taken(module.bias, 0, own)
    if is_transposed:
        module.nf = len(own)


def _linear(module: Any) -> nn.Module:
    """A module whose bias may be taken away."""
    if not hasattr(module, "nf"):
        return module
    linear = nn.Linear(1, 1, device="meta")
    linear.weight, linear.bias = nn.Parameter(module.weight.T, requires_grad=False), module.bias
    return linear


def _shard_experts(module: Any, rank: Rank) -> None:
    """Splits every expert by its inner width."""
    inputs = 2 if not module.is_transposed else 1
    columns = 3 - inputs
    inner = module.down_proj.shape[inputs]
    own = rank.share(inner)
    # Else gate and up alternate.
    both = [*own, *moved(own, inner)] if module.is_concatenated else units(own, 2)
    first = "gate_up_proj" if module.has_gate else "up_proj"
    chosen = both if module.has_gate else own
    setattr(module, first, _taken(getattr(module, first), columns, chosen))
    module.down_proj = _taken(module.down_proj, inputs, own)
    if module.has_bias:
        setattr(module, f"{first}_bias", _taken(getattr(module, f"{first}_bias"), 1, chosen))
        module.down_proj_bias.data = module.down_proj_bias.data / rank.ranks  # adds up to one


def gathered(head: Any, rank: Rank) -> nn.Module:
    """A head of which the rank has a part of the vocabulary."""
    vocabulary = head.weight.shape[0]
    part = nn.Linear(1, 1, bias=False, device="meta")  # the embedding may own the weight
    part.weight = _taken(head.weight, 0, rank.share(vocabulary))
    if head.bias is not None:
        part.bias = _taken(head.bias, 0, rank.share(vocabulary))
    return _Gathered(part, vocabulary, rank)
