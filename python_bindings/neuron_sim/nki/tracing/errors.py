"""Errors of the languages in the vendor's sentences, and what has a kernel traced again."""

from typing import Any


class Unroll(BaseException):
    """These loops are needed as numbers: the kernel is traced again with them unrolled.

    Control flow, not an error: a kernel that catches Exception does not catch it.
    """

    def __init__(self, keys):
        super().__init__("a loop has to be unrolled")
        self.keys = list(dict.fromkeys(keys))


class Retrace(BaseException):
    """What was learned about the kernel holds from its start: "outputs", "exact" storage, or that
    its "programs" wait for each other."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


def out_of_kernel(what: str) -> RuntimeError:
    """err_nki_api_outside_of_nki_kernel."""
    return RuntimeError(
        f"calling NKI API '{what}' outside of NKI kernel is not supported: "
        "decorate the function with nki.jit, or call it through nki.simulate_kernel."
    )


def mixed_indices(_tensor: Any) -> IndexError:
    return IndexError("Mixing basic tensor indexing and advanced tensor indexing is not supported.")


def blocks_before_partitions(tensor: Any) -> ValueError:
    """err_failed_to_infer_tile_from_local_tensor."""
    return ValueError(
        f"Failed to infer tile from tensor '{tensor.name}': the first dimension of a tile is the "
        "partition dimension, but the tensor has block dimensions before it."
    )


def dynamic_index(tensor: Any) -> IndexError:
    """err_copy_dynamic_indirect_indices_not_natively_supported."""
    return IndexError(
        f"If indices are dynamic, copying indirect memory references of tensor `{tensor.name}` "
        "is not natively supported: use nisa.tensor_copy_dynamic_src."
    )


def indirect_pattern(tensor: Any) -> ValueError:
    return ValueError(f"ap of '{tensor.describe()}': the view is indirect already.")


OF_TENSORS = {
    each.__name__: each
    for each in (mixed_indices, blocks_before_partitions, dynamic_index, indirect_pattern)
}
