"""Which tiles of a kernel have explicit addresses, and what that rules out."""

import sys
from types import FrameType
from typing import Any

from ..syntax.places import is_internal


class Allocation:
    """The kernel's tiles are allocated directly, or placed automatically by their lifetimes.

    `directives`: names of the decorators of nki.compiler. `directly`, `automatically`: name of the
    first tile allocated this way, empty when there is none. `unrolled_loops`: number of open
    affine_range and sequential_range loops that run with numbers. `has_rings`: a tensor's tiles are
    a ring of the builder; `apart`: none may be, every logical tile is separate.
    """

    def __init__(self, directives: frozenset = frozenset(), apart: bool = False):
        self.directives = directives
        self.has_rings = False
        self.apart = apart
        self.directly = ""
        self.automatically = ""
        self.unrolled_loops = 0
        self._allocators: dict[tuple, Any] = {}  # by the place in the kernel that uses them first
        self._occurrences: dict[tuple, int] = {}  # of places in the current iteration
        self.banks: dict[Any, int] = {}  # by the View of a tile in PSUM
        self._sums: dict[int, list] = {}  # tiles of a bank that products wrote, latest last

    @property
    def forced_automatic(self) -> bool:
        """Addresses that the kernel gives are ignored."""
        return "force_auto_alloc" in self.directives

    def allocate_directly(self, name: str) -> None:
        """A tile gets an address. ValueError when others of the kernel are placed automatically."""
        if not self.directly:
            self.directly = name
            self._check_mixture()

    def allocate_automatically(self, name: str) -> None:
        """The kernel made a tile without an address: a tensor, or the result of an instruction."""
        if not self.automatically:
            self.automatically = name
            self._check_mixture()

    def _check_mixture(self) -> None:
        if self.directly and self.automatically and "enable_stack_allocator" not in self.directives:
            raise ValueError(
                "Mixing direct allocation with automatic allocation is not supported: tensor "
                f"`{self.directly}` is allocated directly, `{self.automatically}` automatically; "
                "all SBUF and PSUM tensors of a kernel, results of instructions too, must be "
                "allocated in the same way."
            )

    def place_in_bank(self, tile: Any, bank: int) -> None:
        """The tile of this View lies in that bank of PSUM."""
        self.banks[tile] = bank

    def begin_iteration(self) -> None:
        """Begins an iteration of a loop that the vendor traces once, but that is unrolled here."""
        self._occurrences = {}

    def allocator(self, given: Any) -> Any:
        """The allocator for a tensor that is declared now: in a loop that the vendor traces once,
        the first iteration decides, whatever Python variables count there."""
        if not self.unrolled_loops:
            return given
        place: list = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if not is_internal(frame.f_code):
                place += (frame.f_code, frame.f_lasti)
            frame = frame.f_back
        key = tuple(place)
        occurrence = self._occurrences.get(key, 0)
        self._occurrences[key] = occurrence + 1
        return self._allocators.setdefault((key, occurrence), given)

    def check_product(self, storage: Any, accumulates: bool) -> None:
        """A product writes to a tile. ValueError when it continues a sum although another tile of
        its bank was written since: groups of accumulations to one bank must not be interleaved."""
        bank = self.banks.get(storage.whole)
        if bank is None:
            return
        sums = self._sums.setdefault(bank, [])
        if accumulates and storage in sums and sums[-1] is not storage:
            raise ValueError(
                "[SCH713] Violation of accumulation group interleaving: a product continues the "
                f"sum in `{storage.name}` after another began one in `{sums[-1].name}`, which lies "
                f"in bank {bank} of PSUM too."
            )
        if storage in sums:
            sums.remove(storage)
        sums.append(storage)

    def check_scratch(self, names: list) -> None:
        """ValueError for HBM tensors of an allocated kernel that are not its results."""
        if self.directly and names:
            raise ValueError(
                f"Non IO HBM tensor is not supported in allocated NKI kernel: {', '.join(names)}"
            )

    def check_bias(self, bias: object) -> None:
        """err_bias_tensor_must_be_specified_in_allocation."""
        if self.directly and bias is None:
            raise ValueError(
                "Bias tensor of an activation op must be specified in allocated NKI kernels."
            )

    def check_transpose(self, instruction: str) -> None:
        """err_transpose_on_tensor_engine_not_allowed_in_allocated_kernel."""
        if self.directly:
            raise ValueError(
                f"Unsupported transpose case in allocated NKI kernels: {instruction}; allocate an "
                "identity matrix and call nisa.nc_matmul() explicitly."
            )

    def check_implicit_tensors(self, function: str) -> None:
        """A function to whose intermediate tensors no kernel can give addresses."""
        if self.directly:
            raise ValueError(
                f"'{function}' creates implicit tensors, which is not supported in allocated NKI "
                "kernels."
            )
