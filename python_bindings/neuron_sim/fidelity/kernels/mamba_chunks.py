"""The selective scan with sums in PSUM: steps 4 and 6 of autocomp's trace."""

from __future__ import annotations

from dataclasses import dataclass, field

from neuron_sim import _core
from neuron_sim.fidelity import lowering
from neuron_sim.fidelity.kernels.mamba_tensors import PARTITIONS, ScanSizes, ScanTensors

PSUM_COLUMNS = 512


@dataclass
class ChunkedScan:
    """A chunk of the sequence at a time, all states of a chunk added up in PSUM."""

    sizes: ScanSizes
    unrolled: bool
    """Step 6: B and C of the next state are loaded into the other of two buffers, and multiplied as
    rows, without a copy on all partitions."""
    builder: _core.Builder = field(init=False)
    tensors: ScanTensors = field(init=False)
    broadcast: lowering.PartitionBroadcast = field(init=False)

    def build(self) -> _core.Program:
        """The kernel in program order: arguments delta, u, A, B, C, out."""
        self.builder = _core.Builder(f"mamba_{6 if self.unrolled else 4}", self.sizes.architecture)
        self.tensors = ScanTensors(self.builder, self.sizes)
        self.broadcast = lowering.PartitionBroadcast(self.builder, PARTITIONS, self.sizes.dtype)
        self.builder.loop(
            self.sizes.batch,
            lambda b: self.builder.loop(
                self.sizes.channel_tiles, lambda c: self._channel_tile(b, c)
            ),
        )
        return self.builder.finish()

    def _channel_tile(self, b: _core.Affine, c: _core.Affine) -> None:
        tensors = self.tensors
        delta = tensors.load(tensors.delta, b, c, "delta")
        product = tensors.multiply(delta, tensors.load(tensors.u, b, c, "u"), "delta_u")
        block = tensors.load_a_block(c)
        carry = tensors.tile("carry", self.sizes.states)
        self.builder.memset(carry, 0.0)

        def chunk(start: _core.Affine | int, width: int) -> None:
            part = slice(start, start + width)
            delta_part, product_part = (tile[0:PARTITIONS, part] for tile in (delta, product))
            sums = self.builder.psum("sums", [PARTITIONS, width])
            self.builder.memset(sums, 0.0)
            self._states(b, part, delta_part, product_part, block, carry, sums)
            copy = tensors.tile("copy", width)
            self.builder.tensor_copy(copy, sums, engine="vector")
            self.builder.dma_copy(tensors.part(tensors.out, b, c, part), copy)

        width = min(self.sizes.sequence, PSUM_COLUMNS)
        full, rest = divmod(self.sizes.sequence, width)
        self.builder.loop(full, lambda i: chunk(i * width, width))
        if rest:
            self.builder.scope(lambda: chunk(full * width, rest))

    def _states(
        self,
        b: _core.Affine,
        part: slice,
        delta: _core.View,
        product: _core.View,
        block: _core.View,
        carry: _core.View,
        sums: _core.View,
    ) -> None:
        tensors = self.tensors
        if not self.unrolled:

            def state(s: _core.Affine) -> None:
                column = slice(s, s + 1)
                powers = tensors.exponential(delta, block[0:PARTITIONS, column])
                rows = [
                    tensors.load_row(tensor, b, s, label, part)
                    for tensor, label in ((tensors.b, "b_row"), (tensors.c, "c_row"))
                ]
                self._scan(powers, product, rows, carry[0:PARTITIONS, column], sums)

            self.builder.loop(self.sizes.states, state)
            return
        width = sums.shape[1]
        buffers = [
            [self.builder.sbuf(f"{label}{i}", [1, width], self.sizes.dtype) for label in "bc"]
            for i in range(2)
        ]
        self._load_pair(buffers[0], b, 0, part)
        for s in range(self.sizes.states):  # the source unrolls even and odd states by hand

            def prefetching_state(s: int = s) -> None:
                column = slice(s, s + 1)
                powers = tensors.exponential(delta, block[0:PARTITIONS, column])
                if s + 1 < self.sizes.states:
                    self._load_pair(buffers[(s + 1) % 2], b, s + 1, part)
                self._scan(powers, product, buffers[s % 2], carry[0:PARTITIONS, column], sums)

            self.builder.scope(prefetching_state)

    def _load_pair(self, buffers: list[_core.View], b: _core.Affine, s: int, part: slice) -> None:
        for buffer, tensor in zip(buffers, (self.tensors.b, self.tensors.c), strict=True):
            self.builder.dma_copy(buffer, tensor[b, s : s + 1, part])

    def _scan(
        self,
        powers: _core.View,
        product: _core.View,
        rows: list[_core.View],
        carry: _core.View,
        sums: _core.View,
    ) -> None:
        """Adds one state to `sums` and leaves its last scanned value in `carry`."""
        tensors, builder = self.tensors, self.builder
        if not self.unrolled:
            b_all, c_all = (self.broadcast.in_sbuf(row) for row in rows)
        else:
            b_all = self.broadcast.in_psum(rows[0])
        inputs = tensors.multiply(product, b_all, "inputs")
        scanned = tensors.scan(powers, inputs, carry)
        last = scanned.shape[1] - 1
        builder.tensor_copy(carry, scanned[0:PARTITIONS, last : last + 1])
        if self.unrolled:
            c_all = self.broadcast.in_psum(rows[1])
        outputs = tensors.multiply(scanned, c_all, "outputs")
        builder.tensor_tensor(sums, sums, outputs, "add")
