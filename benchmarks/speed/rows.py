"""The table: every row with its figures, units and goals."""

from __future__ import annotations

from speed import (
    database,
    language_model,
    linear,
    models,
    networks,
    operators,
    peaks,
    products,
    recording,
    scaling,
    tracing,
    training,
)
from speed.figures import Goal, Row
from speed.sizes import Sizes

NO_GOAL = None
RATIO = "times torch"
AS_FAST = Goal(round(1 / 0.95, 2))
"""0.95 of torch's rate."""
UNRECORDED = "times unrecorded"

ROWS = (
    Row(
        "convolution",
        "256 to 256 channels, 3 x 3, 224 x 224; fp32 and fp16 against torch's conv2d in fp32, "
        "bf16 against bf16 where the host has it",
        {"fp32": (RATIO, AS_FAST), "fp16": (RATIO, AS_FAST), "bf16": (RATIO, NO_GOAL)},
        products.convolution,
    ),
    Row(
        "matmul",
        "square matrices, as convolution against torch.mm, and bf16 against fp32 here",
        {
            f"{name}, {Sizes.matmul >> halved}": figure
            for halved in products.HALVED
            for name, figure in (
                ("fp32", (RATIO, AS_FAST)),
                ("fp16", (RATIO, AS_FAST)),
                ("bf16", (RATIO, NO_GOAL)),
                ("bf16 by fp32", ("times fp32", Goal(1))),
            )
        },
        products.matmul,
    ),
    Row(
        "linear",
        "torch.nn.functional.linear of 1, 4 and 16 rows, 2,048 inputs and 8,192 outputs, against "
        "torch in the same dtype",
        {f"{name}, {rows}": (RATIO, Goal(1.5)) for name in products.DTYPES for rows in linear.ROWS},
        linear.linear,
    ),
    Row(
        "resnet50",
        "ResNet-50, batch 1, float32, against torch eager",
        {"eager": (RATIO, Goal(1.3)), "compiled": (RATIO, Goal(1.1))},
        networks.resnet50,
    ),
    Row(
        "bert",
        "BERT-base, 128 tokens, float32, against torch eager",
        {"eager": (RATIO, Goal(1.3)), "compiled": (RATIO, Goal(1.1))},
        networks.bert_base,
    ),
    Row(
        "operators",
        "a cached eager call on tensors of up to 256 elements against torch's",
        {name: (RATIO, Goal(2.5)) for name in operators.OPERATORS},
        operators.cached_operators,
    ),
    Row(
        "op_db",
        "each operator of PyTorch's operator database that needs no fallback, on its largest "
        "float32 sample",
        {
            "operators": ("operators", NO_GOAL),
            "median": (RATIO, Goal(1.7)),
            "90 %": (RATIO, Goal(4)),
            "99 %": (RATIO, Goal(10)),
        },
        database.whole_database,
    ),
    Row(
        "models",
        "small models of transformers and of torch.nn, batch 1, the second call and later: eager "
        "and compiled against torch eager, recorded against unrecorded",
        {
            "models": ("models", NO_GOAL),
            "eager, median": (RATIO, Goal(1.5)),
            "eager, slowest": (RATIO, Goal(3)),
            "recorded, median": (UNRECORDED, Goal(1.3)),
            "recorded, slowest": (UNRECORDED, Goal(1.3)),
            "compiled, median": (RATIO, Goal(1.1)),
            "compiled, slowest": (RATIO, Goal(1.1)),
        },
        models.small_models,
    ),
    Row(
        "recurrent",
        "two layers of 128 over 64 tokens, batch 1",
        {
            f"{name}, {way}": (RATIO, Goal(2.5))
            for name in ("lstm", "gru")
            for way in ("eager", "compiled")
        },
        models.recurrent_models,
    ),
    Row(
        "training",
        "one update by AdamW: three linear layers, GPT-2 of 4 layers, 4 residual blocks; eager and "
        "compiled against torch eager",
        {
            f"{name}, {way}": (RATIO, Goal(limit))
            for name in training.NETWORKS
            for way, limit in (("eager", 1.5), ("compiled", 1.2))
        },
        training.training,
    ),
    Row(
        "language_model",
        "a Llama of 1.24 billion parameters in bf16, two threads, against torch: a prompt of 128 "
        "tokens, a token after it; peak memory against the weights",
        {
            "prompt": (RATIO, Goal(1.5)),
            "token": (RATIO, Goal(1.5)),
            "memory": ("times the weights", Goal(1.5)),
        },
        language_model.language_model,
    ),
    Row(
        "scalar",
        "x + i with a new number i in each call; time against the same number again",
        {"new programs": ("programs", Goal(0)), "time": ("times a cached call", NO_GOAL)},
        operators.new_scalars,
    ),
    Row(
        "nki",
        "tracing and compiling kernels that emit 10,000 instructions, in both NKI languages; the "
        "passes unroll loops, of which three kernels have one of 8 iterations: their time is per "
        "instance, and for comparison per instruction",
        {
            "tracing, median": ("us per instruction", Goal(2)),
            "tracing, slowest": ("us per instruction", Goal(2)),
            "passes, median": ("us per instance", Goal(5)),
            "passes, slowest": ("us per instance", Goal(5)),
            "passes per traced instruction, median": ("us", Goal(5)),
            "passes per traced instruction, slowest": ("us", Goal(5)),
        },
        tracing.per_instruction,
    ),
    Row(
        "compile_bert",
        "the first call of BERT-base under torch.compile, less a later one",
        {"first call": ("s", Goal(2))},
        networks.compiling_bert,
    ),
    Row(
        "long_trace",
        "a kernel of 100,000 instructions, traced and compiled; growth of its process",
        {"time": ("s", Goal(1)), "memory": ("MB", Goal(150))},
        peaks.traced_instructions,
    ),
    Row(
        "timing_only",
        "instruction instances of the convolution, walked in full, on one core: the best of "
        f"{Sizes().walks} walks",
        {
            "fp32": ("million/s", Goal(12, at_least=True)),
            "fp16": ("million/s", Goal(12, at_least=True)),
        },
        recording.timing_only,
    ),
    Row(
        "memory",
        "peak memory of a process that runs ResNet-50 once, less that of torch's",
        {"above torch's": ("MB", Goal(200))},
        peaks.resnet_memory,
    ),
    Row(
        "gil",
        "another Python thread while a kernel computes on NumPy arrays; more than half of the "
        "kernel's processor time means that the GIL is released",
        {"other thread": ("% of the kernel's time", Goal(50, at_least=True))},
        tracing.gil,
    ),
    Row(
        "recording",
        "inside record_launches() against the same outside: a cached add, the convolution in fp32, "
        "ResNet-50 eager",
        {
            "add": (UNRECORDED, NO_GOAL),
            "convolution": (UNRECORDED, Goal(1.3)),
            "resnet50": (UNRECORDED, Goal(1.3)),
        },
        recording.recorded_launches,
    ),
    Row(
        "page",
        "the timeline page of the convolution: written, read by Python, drawn by chromium; one of "
        "a million events",
        {
            "writing": ("s", Goal(1)),
            "size": ("MB", NO_GOAL),
            "reading": ("s", NO_GOAL),
            "opening": ("s", Goal(2)),
            "million, size": ("MB", NO_GOAL),
            "million, opening": ("s", Goal(2)),
        },
        recording.timeline_page,
    ),
    Row(
        "scaling",
        "two threads against one: wall time, and the processor time of one thread divided by that "
        "of the busier of two",
        {
            f"{case}, {figure}": (unit, NO_GOAL)
            for case in scaling.CASES
            for figure, unit in scaling.FIGURES.items()
        },
        scaling.scaling,
    ),
)
