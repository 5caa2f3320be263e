"""The table: every row with its figures, units and goals."""

from __future__ import annotations

from speed import database, networks, operators, peaks, products, recording, scaling, tracing
from speed.figures import Goal, Row
from speed.sizes import Sizes

NO_GOAL = None
RATIO = "times torch"
UNRECORDED = "times unrecorded"

ROWS = (
    Row(
        "convolution",
        "256 to 256 channels, 3 x 3, 224 x 224, each dtype against torch's conv2d in fp32",
        {"fp32": (RATIO, Goal(0.85)), "fp16": (RATIO, Goal(0.9)), "bf16": (RATIO, Goal(0.9))},
        products.convolution,
    ),
    Row(
        "matmul",
        "4096 x 4096 x 4096 against torch.mm",
        {"fp32": (RATIO, Goal(0.8))},
        products.matmul,
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
            "passes per traced instruction, median": ("us", NO_GOAL),
            "passes per traced instruction, slowest": ("us", NO_GOAL),
        },
        tracing.per_instruction,
    ),
    Row(
        "compile_bert",
        "the first call of BERT-base under torch.compile, less a later one",
        {"first call": ("s", Goal(3))},
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
