"""Selective state space scan of Mamba: nki-samples' three versions and measured steps of autocomp.

Sources: aws-neuron/nki-samples tutorials/fused_mamba (mamba_v1, v2, v3) and ucb-bar/autocomp
examples/trn-tutorial/3_mamba_trace.py (candidates 0, which is mamba_v1, 4 and 6).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from neuron_sim import _core
from neuron_sim.fidelity import lowering, wording
from neuron_sim.fidelity.case import Case, Launch, total
from neuron_sim.fidelity.kernels.mamba_chunks import ChunkedScan
from neuron_sim.fidelity.kernels.mamba_tensors import PARTITIONS, ScanSizes, ScanTensors
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.stacks import published_stack

V3_CHUNK = 512
"""Elements of the sequence that mamba_v3 scans at a time."""


@dataclass(frozen=True)
class Variant:
    """The settings that distinguish the kernels that scan with sums in SBUF."""

    states_outside: bool = False
    """The loop over states contains the loop over channel tiles; else the reverse."""
    chunk: int | None = None
    """Elements of the sequence per scan; None: all."""


VARIANTS = {
    "v1": Variant(states_outside=True),
    "v2": Variant(),
    "v3": Variant(chunk=V3_CHUNK),
    "0": Variant(states_outside=True),
}


@dataclass
class Scan:
    """One of VARIANTS."""

    sizes: ScanSizes
    variant: Variant
    name: str
    builder: _core.Builder = field(init=False)
    tensors: ScanTensors = field(init=False)
    broadcast: lowering.PartitionBroadcast = field(init=False)

    def build(self) -> _core.Program:
        """The kernel in program order: arguments delta, u, A, B, C, out."""
        self.builder = _core.Builder(f"mamba_{self.name}", self.sizes.architecture)
        self.tensors = ScanTensors(self.builder, self.sizes)
        self.broadcast = lowering.PartitionBroadcast(self.builder, PARTITIONS, self.sizes.dtype)
        batches = self._states_outside if self.variant.states_outside else self._states_inside
        self.builder.loop(self.sizes.batch, batches)
        return self.builder.finish()

    def _states_outside(self, b: _core.Affine) -> None:
        """mamba_v1: sums of all channel tiles live through the loop over states."""
        builder, sizes, tensors = self.builder, self.sizes, self.tensors
        # The block dimension of the sums: every channel tile has its own buffer.
        sums = tensors.tile("sums", ring=sizes.channel_tiles)
        builder.loop(sizes.channel_tiles, lambda c: builder.memset(sums.turn(c), 0.0))

        def state(s: _core.Affine) -> None:
            def channel_tile(c: _core.Affine) -> None:
                delta = tensors.load(tensors.delta, b, c, "delta")
                a = tensors.load_a(c, s)
                powers = tensors.exponential(delta, a)
                u = tensors.load(tensors.u, b, c, "u")
                self._scan(b, s, delta, u, powers, sums.turn(c))

            builder.loop(sizes.channel_tiles, channel_tile)

        builder.loop(sizes.states, state)
        builder.loop(
            sizes.channel_tiles,
            lambda c: builder.dma_copy(tensors.part(tensors.out, b, c), sums.turn(c)),
        )

    def _scan(
        self,
        b: _core.Affine,
        s: _core.Affine,
        delta: _core.View,
        u: _core.View,
        powers: _core.View,
        sums: _core.View,
    ) -> None:
        """Adds C * scan(powers, delta * u * B) of one state to `sums`; order as mamba_v1."""
        tensors = self.tensors
        b_row = tensors.load_row(tensors.b, b, s, "b_row")
        product = tensors.multiply(delta, u, "delta_u")
        inputs = tensors.multiply(product, self.broadcast.in_sbuf(b_row), "inputs")
        scanned = tensors.scan(powers, inputs, 0.0)
        c_row = tensors.load_row(tensors.c, b, s, "c_row")
        outputs = tensors.multiply(scanned, self.broadcast.in_sbuf(c_row), "outputs")
        self.builder.tensor_tensor(sums, sums, outputs, "add")

    def _states_inside(self, b: _core.Affine) -> None:
        """mamba_v2 and v3: delta and u are loaded once per channel tile."""
        builder, sizes, tensors = self.builder, self.sizes, self.tensors

        def channel_tile(c: _core.Affine) -> None:
            sums = tensors.tile("sums")
            builder.memset(sums, 0.0)
            delta = tensors.load(tensors.delta, b, c, "delta")
            u = tensors.load(tensors.u, b, c, "u")

            def state(s: _core.Affine) -> None:
                a = tensors.load_a(c, s)
                if self.variant.chunk:
                    self._scan_chunks(self.variant.chunk, b, s, delta, u, a, sums)
                    return
                self._scan(b, s, delta, u, tensors.exponential(delta, a), sums)

            builder.loop(sizes.states, state)
            builder.dma_copy(tensors.part(tensors.out, b, c), sums)

        builder.loop(sizes.channel_tiles, channel_tile)

    def _scan_chunks(
        self,
        chunk: int,
        b: _core.Affine,
        s: _core.Affine,
        delta: _core.View,
        u: _core.View,
        a: _core.View,
        sums: _core.View,
    ) -> None:
        """mamba_v3: a chunk of the sequence at a time, from the previous chunk's last result."""
        builder, tensors = self.builder, self.tensors
        carry = tensors.tile("carry", 1)
        builder.memset(carry, 0.0)
        for start in range(0, self.sizes.sequence, chunk):  # static_range in the source

            def scan(part: slice = slice(start, start + chunk)) -> None:
                powers = tensors.exponential(delta[0:PARTITIONS, part], a)
                b_row = tensors.load_row(tensors.b, b, s, "b_row", part)
                product = tensors.multiply(
                    delta[0:PARTITIONS, part], u[0:PARTITIONS, part], "delta_u"
                )
                inputs = tensors.multiply(product, self.broadcast.in_sbuf(b_row), "inputs")
                scanned = tensors.scan(powers, inputs, carry)
                builder.tensor_copy(carry, scanned[0:PARTITIONS, chunk - 1 : chunk])
                c_row = tensors.load_row(tensors.c, b, s, "c_row", part)
                outputs = tensors.multiply(scanned, self.broadcast.in_sbuf(c_row), "outputs")
                place = sums[0:PARTITIONS, part]
                builder.tensor_tensor(place, place, outputs, "add")

            builder.scope(scan)


def match(measurement: Measurement) -> Case | None:
    """Reads version or step, and sizes."""
    if measurement.family != "mamba_scan":
        return None
    sizes, name = _sizes(measurement), _name(measurement)
    if sizes is None or name is None:
        return None
    if name in VARIANTS:
        variant = VARIANTS[name]
        if variant.chunk and sizes.sequence % variant.chunk:
            return None
        build = Scan(sizes, variant, name).build
    else:
        build = ChunkedScan(sizes, unrolled=name == "6").build
    # "profile device time" is the time of the kernel on the device; autocomp has NC latencies.
    launch = Launch(build, published_stack(measurement))
    return Case(measurement, (launch,), total(measurement.time))


def _name(measurement: Measurement) -> str | None:
    """v1 to v3, or the step 0, 4 or 6."""
    version = re.search(r"mamba[_ ]?(v[1-3])", measurement.kernel.lower())
    if version:
        return version.group(1)
    step = wording.number(measurement.kernel, "step", "candidate")
    return str(step) if step in (0, 4, 6) else None


def _sizes(measurement: Measurement) -> ScanSizes | None:
    text, dtype = measurement.shapes, wording.dtype(measurement.dtype or "float32")
    channels = wording.number(text, "channels", "channel")
    sequence = wording.number(text, "seq_len", "seqlen", "seq", "sequence")
    if channels is None or sequence is None or dtype is None or channels % PARTITIONS:
        return None
    batch = wording.number(text, "batch", "batch_size") or 1
    states = wording.number(text, "state_size", "states?") or 16
    return ScanSizes(measurement.architecture, batch, channels, sequence, states, dtype)
