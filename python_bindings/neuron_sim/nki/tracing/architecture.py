"""The architecture that a kernel is traced for: limits and features, as its file states them."""

from functools import cache, cached_property
from types import SimpleNamespace

from neuron_sim import _core


class Architecture:
    """`limits` (whole numbers) and `features` (bools) have the names of the facts in its file."""

    def __init__(self, name_or_path: str):
        self.name = name_or_path
        self.limits, self.features = SimpleNamespace(), SimpleNamespace()
        tables = {"limits": (self.limits, int), "features": (self.features, bool)}
        for key, fact in _core.architecture_facts(name_or_path).items():
            table, _, name = key.partition(".")
            if table in tables:
                facts, kind = tables[table]
                setattr(facts, name, kind(fact["value"]))

    @cached_property
    def queries(self) -> dict:
        """A kernel's queries about its target: get_nc_version, get_nc_sub_version."""
        return _core.compile_time_queries(self.name)

    @property
    def psum_columns(self) -> int:
        """fp32 elements per partition of a PSUM bank."""
        return self.limits.psum_bank // 4

    @property
    def product_columns(self) -> int:
        """Moving columns of one matrix product, whose fp32 result is in one PSUM bank."""
        return min(self.limits.moving_free, self.psum_columns)

    @property
    def square(self) -> int:
        """Rows, and columns, of the largest tile that the Tensor engine transposes."""
        return min(self.limits.partitions, self.limits.stationary_free)

    def bytes_per_partition(self, memory: str) -> int:
        """Bytes of a partition that tensors may use; of SBUF, the compiler keeps 16 KiB."""
        if memory == "sbuf":
            return self.limits.sbuf_usable
        return self.limits.psum_banks * self.limits.psum_bank


def architecture_at(name_or_path: str) -> Architecture:
    """The architecture of a name or a TOML file, which is reread: it may have changed."""
    is_built_in = name_or_path in _core.architectures()
    return _built_in(name_or_path) if is_built_in else Architecture(name_or_path)


_built_in = cache(Architecture)
