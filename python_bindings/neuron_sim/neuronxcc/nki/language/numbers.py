"""Numbers of the host side: limits of dtypes, casts, sizes."""

import ml_dtypes
import numpy as np

from neuron_sim.nki.tracing.dtypes import dtype_of


def static_cast(value, dtype):
    """A host array, or number, as another dtype."""
    return np.asarray(value).astype(dtype_of(dtype).numpy)


def finfo(dtype):
    """Limits of a float dtype: min, max, eps, ..."""
    return ml_dtypes.finfo(dtype_of(dtype).numpy)


class fp32:
    """Limits of fp32."""

    min = float(np.uint32(0xFF7FFFFF).view(np.float32))
    max = -min
