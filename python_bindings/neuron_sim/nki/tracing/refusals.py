"""Errors of tensors and indices in the vendor's words, which C++ and Python raise."""

from typing import Any

from .errors import Unroll


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


OF_TENSORS = {
    each.__name__: each for each in (mixed_indices, blocks_before_partitions, dynamic_index)
}


def depends_on_loops(expressions) -> Unroll:
    """The loops in index expressions are needed as numbers."""
    return Unroll(list({loop.key: None for each in expressions for loop in each.terms}))
