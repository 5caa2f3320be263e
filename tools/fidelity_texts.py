"""What docs/fidelity.md says in words: what is modelled, what is not, why cases are missed."""

from __future__ import annotations

from dataclasses import dataclass

MODELLED = (
    "In-order queues per engine (Tensor, Vector, Scalar, GpSimd, Sync): the interval in which an "
    "instruction keeps its engine, and the latency until its result is visible, each by dtype, "
    "operand space, stride and performance mode.",
    "TensorE as two queues, weights and multiplications: weight loads hidden behind the previous "
    "multiplication where the generation can, fp32 in several passes, strided weights, clock "
    "gating in free-running windows (trn2).",
    "ScalarE: activation tables, loaded when the function changes.",
    "DMA: triggers by kind of descriptor (static, hardware, software), descriptors spread over 16 "
    "engines, packets, queues in order, small rows, strided elements, words of HBM that a store "
    "writes in part, stalls at the start of a load, DMA transposes, a shared HBM bandwidth, "
    "completion latencies.",
    "Semaphores: wake-up latency by producer and consumer, one wait per instruction, further ones "
    "as instructions of their own.",
    "The port that Vector and GpSimd share.",
    "Three notions of a kernel's time: `body` (first instruction to last completion), "
    "`nc_latency` (what nki.benchmark prints; more with software descriptors) and `profile_total` "
    "(what neuron-profile prints).",
    "The compiler between kernel and chip, as passes that a published stack switches on: renaming "
    "of buffers, allocation, queue assignment, list scheduling; see the settings below.",
)
"""Mechanisms, each with its parameters in the architecture file."""

NOT_MODELLED = (
    "Conflicts of SBUF and PSUM banks between engines.",
    "Random variation: the first packets of equal loads start up to 300 ns apart on hardware; the "
    "model uses the mean. The phase of the PE clock's windows relative to a kernel is arbitrary on "
    "hardware; the suite times every kernel at phase 0.",
    "HBM refresh and bank conflicts, thermal throttling.",
    "Contention with other cores of the chip.",
    "Time on the host: dispatch, copies, the runtime's queues.",
    "The compiler beyond the passes: fusion of operators, choice of layouts, spilling.",
    "trn3: no measurement is public; its numbers follow documents and trn2.",
)


@dataclass(frozen=True)
class Miss:
    """A mechanism that is missing, and the cases that show it."""

    cases: tuple[str, ...]
    """Beginnings of ids."""
    mechanism: str


MISSES: tuple[Miss, ...] = (
    Miss(
        ("inf2-dma-chase",),
        "A load whose address another load brought: register load, descriptor generation and the "
        "wake-up of the consumer on NeuronCore-v2. No trace shows these latencies.",
    ),
    Miss(
        ("trn1-conv2d",),
        "Which engines the compiler gives the copies of windows inside SBUF: here Vector does all "
        "of them and is the bottleneck.",
    ),
    Miss(
        ("trn1-conv1d",),
        "Short dependent Vector instructions on NeuronCore-v2: the latency until a result is "
        "visible to the next instruction is taken from trn2, and which instructions the compiler "
        "puts in between is not known.",
    ),
    Miss(
        ("trn2-gemm2048-bf16-k59",),
        "The measurement is derived from a utilisation; it is slower than all loads and then all "
        "products. What keeps them apart is not known.",
    ),
    Miss(
        ("trn2-mlp",),
        "Which loads of matrix products the compiler keeps in SBUF and merges. Totals suggest that "
        "it keeps what fits; no trace of such a kernel is public.",
    ),
    Miss(
        ("trn1-attention-autocomp-0",),
        "Intermediate results in HBM: how the compiler overlaps their stores with the loads of the "
        "next pass on trn1.",
    ),
    Miss(
        ("trn1-attention", "trn1-sdattn"),
        "Order of instructions and engines of copies out of PSUM in the compiler for trn1: the "
        "rules come from traces of trn2.",
    ),
    Miss(
        ("ncv2-mamba", "trn1-mamba"),
        "Which broadcasts of a row over partitions the compiler reads from PSUM, and which "
        "products it takes out of the loop over states.",
    ),
)
"""Known or suspected reasons for errors of more than 20 %; the first that names a case counts."""
