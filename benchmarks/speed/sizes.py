"""How large the measured work is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sizes:
    """Those of the page; TINY has every function run in a moment."""

    repetitions: int = 5
    """Repetitions of each side, interleaved, after one that is not counted."""
    long_repetitions: int = 3
    """Repetitions where one takes seconds."""
    walks: int = 50
    """Walks of the timeline; one takes 0.4 ms, which an interruption lengthens by a fifth."""
    channels: int = 256
    image: int = 224
    matmul: int = 4096
    """Rows and columns of the largest square product; smaller ones are halves of it."""
    linear: tuple[int, int] = (8192, 2048)
    """Outputs and inputs of the linear layer."""
    llama: Mapping[str, int] = field(
        default_factory=lambda: {
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 16,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "vocab_size": 128256,
            "tie_word_embeddings": True,
        }
    )
    """Arguments of transformers.LlamaConfig: 1.24 billion parameters."""
    resnet_depth: int = 50
    resnet_image: int = 224
    tokens: int = 128
    bert: Mapping[str, int] = field(default_factory=dict)
    """Arguments of transformers.BertConfig, whose defaults are BERT-base."""
    calls: int = 500
    """Calls of a small operator per repetition."""
    models: int | None = None
    """Entries of each list of small models; None: all."""
    operators: int | None = None
    """Entries of PyTorch's operator database; None: all."""
    scalars: int = 100
    instructions: int = 10_000
    """Instructions of each traced kernel."""
    long_trace: int = 100_000
    events: int = 1_000_000
    """Events of the long page."""
    browser: bool = True


TINY = Sizes(
    repetitions=1,
    long_repetitions=1,
    walks=1,
    channels=128,
    image=8,
    matmul=64,
    linear=(40, 24),
    llama={
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "vocab_size": 50,
    },
    models=2,
    resnet_depth=18,
    resnet_image=32,
    tokens=8,
    bert={
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "vocab_size": 100,
    },
    calls=2,
    operators=9,
    scalars=2,
    instructions=40,
    long_trace=80,
    events=700,
    browser=False,
)
