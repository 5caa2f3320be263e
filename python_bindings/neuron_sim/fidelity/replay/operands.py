"""The operand text of a profiled instruction, parsed: semaphores, settings, access patterns.

Addresses of the engines are linear over the partitions: SBUF has 128 of them, 256 KiB apart, PSUM
follows. The DMA engines see the same window of the core at 0x802000000000; every other address they
use is HBM. Read off the traces: every destination of a load is the source of a later reader.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

PARTITION_STRIDE = 256 << 10
PARTITIONS = 128
PSUM_START = PARTITIONS * PARTITION_STRIDE
CORE_WINDOW = 0x802000000000
CORE_WINDOW_BYTES = 2 * PSUM_START

DTYPES = {"fp32": "float32", "bfloat16": "bfloat16", "fp16": "float16"}
"""The profiler's names of dtypes, and ours."""
ITEMSIZE = {"float32": 4, "bfloat16": 2, "float16": 2}

_WAIT = re.compile(r"(?<!\$)S\[(\d+)\] \(\w+\)>=(\d+)")
_INCREMENT = re.compile(r"(?<!\$)S\[(\d+)\] \(\w+\)\+\+@complete")
_SETTING = re.compile(r"(\w+)=(\S+)")
_ARRAY = re.compile(r" (\d+)\*(\d+)$")
_PATTERN = re.compile(r"(?:(\w+)@)?(0x[0-9a-f]+)(?:\[([-\d,]+)\]\[([\d,]+)\])?")
_BRACKETS = re.compile(r"\[([\d,]+)\]\[([\d,]+)\]")


@dataclass(frozen=True)
class Wait:
    """The instruction starts when semaphore `semaphore` is at least `value`."""

    semaphore: int
    value: int


@dataclass(frozen=True)
class Access:
    """Elements of one partition, or of HBM: the innermost dimension first."""

    address: int
    dtype: str
    """Ours; empty where the profile does not say."""
    strides: tuple[int, ...] = ()
    """In elements."""
    sizes: tuple[int, ...] = ()

    @property
    def elements(self) -> int:
        return math.prod(self.sizes)

    @property
    def run(self) -> int:
        """Distance of the elements of a pattern without gaps: 1, or -1 when it runs backwards.
        ValueError for other patterns."""
        dimensions = [
            (stride, size)
            for stride, size in zip(self.strides, self.sizes, strict=True)
            if size > 1
        ]
        direction = -1 if dimensions and dimensions[0][0] < 0 else 1
        expected = direction
        for stride, size in dimensions:
            if stride != expected:
                raise ValueError(f"access pattern {list(self.strides)}{list(self.sizes)} has gaps")
            expected *= size
        return direction


@dataclass(frozen=True)
class TransferSide:
    """One side of a DMA transfer."""

    table: int
    """Index of the kernel argument, -1 for an address."""
    address: int
    """Byte address, or byte within the argument."""
    element_bytes: int
    strides: tuple[int, ...]
    """In bytes, the innermost dimension (of elements) first; dimensions of size 1 left out."""
    sizes: tuple[int, ...]
    dtype: str
    """The dtype of elements that the DMA engines convert; empty for others."""

    @property
    def on_chip(self) -> bool:
        return self.table < 0 and 0 <= self.address - CORE_WINDOW < CORE_WINDOW_BYTES


class Operands:
    """The operand text of one instruction; errors are ValueErrors that name what is missing."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.settings = dict(_SETTING.findall(text))

    @property
    def waits(self) -> tuple[Wait, ...]:
        """On named semaphores: those of the kernel's engines and queues, not of the runtime."""
        return tuple(Wait(int(name), int(value)) for name, value in _WAIT.findall(self.text))

    @property
    def increments(self) -> tuple[int, ...]:
        """Named semaphores that count the completions of this instruction, by one; a DMA adds its
        `sem_increment` to `semaphore`."""
        return tuple(int(name) for name in _INCREMENT.findall(self.text))

    def setting(self, key: str) -> str:
        value = self.settings.get(key)
        if value is None:
            raise ValueError(f"operands '{self.text}' have no '{key}'")
        return value

    def number(self, key: str) -> int:
        try:
            return int(self.setting(key), 0)
        except ValueError:
            raise ValueError(f"operand '{key}' of '{self.text}' is not a number") from None

    def array(self) -> tuple[int, int]:
        """Rows and columns of the PE array that a load of weights or a product occupies."""
        match = _ARRAY.search(self.text)
        if match is None:
            raise ValueError(f"operands '{self.text}' have no rows*columns of the PE array")
        return int(match[1]), int(match[2])

    def access(self, key: str) -> Access:
        """An on-chip operand: dtype@address[strides][sizes]."""
        value = self.setting(key)
        match = _PATTERN.fullmatch(value)
        if match is None or (match[1] and match[1] not in DTYPES):
            raise ValueError(f"operand '{key}' is '{value}', not dtype@address[strides][sizes]")
        return Access(
            int(match[2], 16),
            DTYPES.get(match[1] or "", ""),
            _numbers(match[3]),
            _numbers(match[4]),
        )

    def transfer_side(self, side: str) -> TransferSide:
        """`side` is src or dst."""
        pattern = self.setting(f"{side}_pattern")
        match = _BRACKETS.fullmatch(pattern)
        if match is None:
            raise ValueError(f"operand '{side}_pattern' is '{pattern}', not [strides][sizes]")
        dimensions = [
            pair for pair in zip(_numbers(match[1]), _numbers(match[2]), strict=True) if pair[1] > 1
        ]
        table = f"{side}_table_index" in self.settings
        dtype = self.settings.get("in_dtype" if side == "src" else "out_dtype", "")
        return TransferSide(
            table=self.number(f"{side}_table_index") if table else -1,
            address=self.number(f"{side}_table_offset_imm" if table else f"{side}_addr_imm"),
            element_bytes=self.number(f"{side}_elem_size"),
            strides=tuple(stride for stride, _ in dimensions),
            sizes=tuple(size for _, size in dimensions),
            dtype=DTYPES[dtype] if dtype in DTYPES else dtype,
        )


def _numbers(text: str | None) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",")) if text else ()
