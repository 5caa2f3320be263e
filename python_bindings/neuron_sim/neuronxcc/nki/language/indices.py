"""Index tensors of the old language: arange, mgrid, ds."""

from operator import index as as_int

from neuron_sim.nki.tracing import expression
from neuron_sim.nki.tracing.indexing import DynamicSlice

_NAMES = "pxyzwuv"


def arange(*arguments):
    """0 .. stop - 1, or start .. stop - 1, or in steps: one dimension of an index."""
    values = range(*[as_int(each) for each in arguments])
    return expression.arange(values.start, len(values), values.step)


def ds(start, size):
    """The slice start .. start + size - 1; start may be an index expression."""
    return DynamicSlice(start, size)


class Grid(tuple):
    """The index tensors of nl.mgrid: unpacked like a tuple, or by name: .p, .x, .y, .z, .w."""

    def __getattr__(self, name: str):
        position = _NAMES.find(name)
        if len(name) != 1 or not 0 <= position < len(self):
            raise AttributeError(f"nl.mgrid of {len(self)} dimensions has no '{name}'.")
        return self[position]


class _GridMaker:
    """nl.mgrid[0:P, 0:F]."""

    def __getitem__(self, slices) -> Grid:
        items = slices if isinstance(slices, tuple) else (slices,)
        ranges = [self._range_of(item) for item in items]
        shape = tuple([len(values) for values in ranges])
        result = []
        for axis, values in enumerate(ranges):
            steps = [0] * len(shape)
            steps[axis] = values.step
            result.append(expression.Expression(values.start, {}, tuple(steps), shape))
        return Grid(result)

    @staticmethod
    def _range_of(item) -> range:
        if not isinstance(item, slice) or item.stop is None:
            raise ValueError(f"nl.mgrid takes slices start:stop, not {item!r}.")
        return range(as_int(item.start or 0), as_int(item.stop), as_int(item.step or 1))


mgrid = _GridMaker()
