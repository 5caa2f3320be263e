"""A kernel module and measurements for tests of the fidelity suite."""

from neuron_sim import _core
from neuron_sim.fidelity import suite
from neuron_sim.fidelity.case import Case, Launch, total


def copy_kernel(columns, architecture="trn2", name="copy"):
    """Copies [128, columns] through SBUF."""
    builder = _core.Builder(name, architecture)
    x = builder.argument("x", [128, columns])
    y = builder.argument("y", [128, columns])
    tile = builder.sbuf("tile", [128, columns])
    builder.dma_copy(tile, x)
    builder.dma_copy(y, tile)
    return builder.finish()


def entry(identifier, columns, value=10.0, **changes):
    """A measurement of copy_kernel as the data files write it."""
    written = {
        "id": identifier, "arch": "trn2", "family": "copy", "kernel": f"copy of {columns} columns",
        "description": "", "shapes": f"(128, {columns})", "dtype": "float32",
        "metric": "nc_latency", "value": value, "unit": "us", "split": "calibration",
    }  # fmt: skip
    return {**written, **changes}


def match(measurement):
    """The case of a copy; a kernel that cannot be built for "broken"."""
    words = measurement.kernel.split()
    if words[:2] == ["broken", "kernel"]:
        raise RuntimeError("the tile is too wide.\nmore")
    if words[:2] != ["copy", "of"]:
        return None
    columns = int(words[2])
    return Case(
        measurement,
        (Launch(lambda: copy_kernel(columns, measurement.architecture), stack_of(measurement)),),
        total("latency_us"),
    )


def stack_of(measurement):
    """A published stack of the measurement's core."""
    return f"neuronx-cc {measurement.architecture}"


def install(monkeypatch, matcher=match):
    """Makes the suite consist of `matcher`."""
    monkeypatch.setattr(suite, "matchers", lambda: (matcher,))
