"""neuronxcc.nki.language: all operators; imported when the first of them is used."""

from . import operators_elementwise, operators_random, operators_reductions, operators_shapes
from .operators_elementwise import *  # noqa: F403
from .operators_random import *  # noqa: F403
from .operators_reductions import *  # noqa: F403
from .operators_shapes import *  # noqa: F403

__all__ = [
    *operators_elementwise.__all__,
    *operators_random.__all__,
    *operators_reductions.__all__,
    *operators_shapes.__all__,
]
