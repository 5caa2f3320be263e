"""Errors of the base classes of neuron_sim._core, in the vendor's words."""

from collections.abc import Callable

from .errors import Unroll


def refusal(reason: str, *values) -> BaseException:
    """The error of a reason, a key of a table below, with the values that C++ passes."""
    if reason in _FUNCTIONS:
        return _FUNCTIONS[reason](*values)
    error, sentence = _SENTENCES[reason]
    return error(sentence.format(*values))


def out_of_bound(tensor, dimension: int, low: int, high: int, size: int) -> IndexError:
    """err_tensor_access_out_of_bound."""
    return IndexError(
        f"Out-of-bound access for tensor `{tensor.name}` on dimension {dimension}: "
        f"index range [{low}, {high}] exceed dimension size of {size}"
    )


def mixed_indices() -> IndexError:
    return IndexError("Mixing basic tensor indexing and advanced tensor indexing is not supported.")


def _shapes_differ(a: tuple, b: tuple) -> ValueError:
    return ValueError(f"index shapes {list(a)} and {list(b)} cannot be broadcast together.")


def _mask_does_not_fit(mask, shape: tuple) -> ValueError:
    return ValueError(
        f"mask of shape {list(mask.shape)} does not fit a tile of shape {list(shape)}."
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


_FUNCTIONS: dict[str, Callable[..., BaseException]] = {
    "out_of_bound": out_of_bound,
    "mixed_indices": mixed_indices,
    "shapes_differ": _shapes_differ,
    "mask_does_not_fit": _mask_does_not_fit,
    "partition_step": _partition_step,
    "blocks_before_partitions": blocks_before_partitions,
    "dynamic_index": dynamic_index,
    "depends_on_loops": depends_on_loops,
    "inexact_division": _inexact_division,
}
_SENTENCES: dict[str, tuple[type[Exception], str]] = {
    "too_many_indices": (
        IndexError,
        "too many indices for tensor `{0.name}`: it has {1} dimensions, {2} were indexed.",
    ),
    "dimension_before_partitions": (
        IndexError,
        "tensor `{0.name}`: no dimension can be added before the partitions.",
    ),
    "not_an_index": (IndexError, "tensor `{0.name}` cannot be indexed with {1!r}."),
    "indices_too_large": (ValueError, "tensor `{0.name}`: an index is beyond 64 bits."),
    "slice_step": (IndexError, "tensor `{0.name}`: the step {1} of a slice is not positive."),
    "one_dimensional_indices": (
        IndexError,
        "indexing tensor `{0.name}` with 1d arange is not supported",
    ),
    "partition_stride": (
        IndexError,
        "tensor `{0.name}`: partition stride {1} is not supported.",
    ),
    "partition_dimension": (
        IndexError,
        "Failed to infer tile from tensor '{0.name}': its partition dimension is indexed by "
        "dimension {1} of the tile; the first dimension of a tile is the partition dimension.",
    ),
    "not_a_mask": (
        ValueError,
        "a mask is made of comparisons of index expressions, not of {0.__class__.__name__}: "
        "NKI mask expressions must be affine expressions of static loop indices.",
    ),
    "too_many_boxes": (
        ValueError,
        "the mask leaves no rectangle of the tile and would split it into {0} parts; "
        "at most {1} are supported.",
    ),
}
"""Errors that are a sentence with the values that C++ passes."""
