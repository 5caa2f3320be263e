"""Errors of the base classes of neuron_sim._core, in the vendor's words."""

from collections.abc import Callable

from .errors import Unroll


def refusal(reason: str, *values) -> BaseException:
    """The error of a reason, which is a key of the table below, with the values that C++ passes."""
    return _REASONS[reason](*values)


def out_of_bound(tensor, dimension: int, low: int, high: int, size: int) -> IndexError:
    """err_tensor_access_out_of_bound."""
    return IndexError(
        f"Out-of-bound access for tensor `{tensor.name}` on dimension {dimension}: "
        f"index range [{low}, {high}] exceed dimension size of {size}"
    )


def mixed_indices() -> IndexError:
    return IndexError("Mixing basic tensor indexing and advanced tensor indexing is not supported.")


def _too_many_indices(tensor, rank: int, count: int) -> IndexError:
    return IndexError(
        f"too many indices for tensor `{tensor.name}`: it has {rank} dimensions, "
        f"{count} were indexed."
    )


def _dimension_before_partitions(tensor) -> IndexError:
    return IndexError(f"tensor `{tensor.name}`: no dimension can be added before the partitions.")


def _not_an_index(tensor, item) -> IndexError:
    return IndexError(f"tensor `{tensor.name}` cannot be indexed with {item!r}.")


def _indices_too_large(tensor) -> ValueError:
    return ValueError(f"tensor `{tensor.name}`: an index is beyond 64 bits.")


def _slice_step(tensor, step: int) -> IndexError:
    return IndexError(f"tensor `{tensor.name}`: the step {step} of a slice is not positive.")


def _one_dimensional_indices(tensor) -> IndexError:
    return IndexError(f"indexing tensor `{tensor.name}` with 1d arange is not supported")


def _shapes_differ(a: tuple, b: tuple) -> ValueError:
    return ValueError(f"index shapes {list(a)} and {list(b)} cannot be broadcast together.")


def _partition_stride(tensor, step: int) -> IndexError:
    return IndexError(f"tensor `{tensor.name}`: partition stride {step} is not supported.")


def _partition_dimension(tensor, dimension: int) -> IndexError:
    return IndexError(
        f"Failed to infer tile from tensor '{tensor.name}': its partition dimension is indexed "
        f"by dimension {dimension} of the tile; the first dimension of a tile is the partition "
        "dimension."
    )


def _partition_step(tensor, step: int, row: int) -> ValueError:
    return ValueError(
        f"ap of '{tensor.describe()}': the step {step} of the partition dimension must be "
        f"the {row} elements of a partition."
    )


def blocks_before_partitions(tensor) -> ValueError:
    """err_failed_to_infer_tile_from_local_tensor."""
    return ValueError(
        f"Failed to infer tile from tensor '{tensor.name}': the first dimension of a tile is the "
        "partition dimension, but the tensor has block dimensions before it."
    )


def dynamic_index(tensor) -> IndexError:
    """err_copy_dynamic_indirect_indices_not_natively_supported."""
    return IndexError(
        f"If indices are dynamic, copying indirect memory references of tensor `{tensor.name}` "
        "is not natively supported: use nisa.tensor_copy_dynamic_src."
    )


def _not_a_mask(mask) -> ValueError:
    return ValueError(
        f"a mask is made of comparisons of index expressions, not of {type(mask).__name__}: "
        "NKI mask expressions must be affine expressions of static loop indices."
    )


def _mask_does_not_fit(mask, shape: tuple) -> ValueError:
    return ValueError(
        f"mask of shape {list(mask.shape)} does not fit a tile of shape {list(shape)}."
    )


def _too_many_boxes(count: int, most: int) -> ValueError:
    return ValueError(
        f"the mask leaves no rectangle of the tile and would split it into {count} parts; "
        f"at most {most} are supported."
    )


def depends_on_loops(expressions) -> Unroll:
    """The loops in index expressions are needed as numbers."""
    return Unroll(list({loop.key: None for each in expressions for loop in each.terms}))


def not_affine(what: str) -> ValueError:
    """err_unsupported_expression_in_mask, of masks and indices alike."""
    return ValueError(f"{what} is not an affine expression of static loop indices.")


def _inexact_division(expression, divisor: int) -> BaseException:
    if expression.terms:
        return depends_on_loops((expression,))
    return not_affine(f"{expression} divided by {divisor}")


_REASONS: dict[str, Callable[..., BaseException]] = {
    "out_of_bound": out_of_bound,
    "mixed_indices": mixed_indices,
    "too_many_indices": _too_many_indices,
    "dimension_before_partitions": _dimension_before_partitions,
    "not_an_index": _not_an_index,
    "indices_too_large": _indices_too_large,
    "slice_step": _slice_step,
    "one_dimensional_indices": _one_dimensional_indices,
    "shapes_differ": _shapes_differ,
    "partition_stride": _partition_stride,
    "partition_dimension": _partition_dimension,
    "partition_step": _partition_step,
    "blocks_before_partitions": blocks_before_partitions,
    "dynamic_index": dynamic_index,
    "not_a_mask": _not_a_mask,
    "mask_does_not_fit": _mask_does_not_fit,
    "too_many_boxes": _too_many_boxes,
    "depends_on_loops": depends_on_loops,
    "inexact_division": _inexact_division,
}
