"""Tiles that do not fit the chip: refused where the compiler cannot spill any."""

from types import SimpleNamespace

import pytest
from neuron_sim.nki.launch import memory

OVERFLOW = "tiles need more than SBUF has.\ntile 'a' (1 bytes)"


def program(overflow="", generation=3):
    """As much of a program as is asked for."""
    return SimpleNamespace(overflow=overflow, generation=generation)


@pytest.mark.parametrize(
    ("overflow", "objection"), [("", "its loops are dynamic"), (OVERFLOW, ""), ("", "")]
)
def test_tiles_that_fit_or_may_be_spilled_are_not_refused(overflow, objection, monkeypatch):
    monkeypatch.setattr(memory._core, "pass_objection", lambda _: objection)
    memory.check_fits(program(overflow))


def test_tiles_that_nothing_spills_are_refused_with_the_reason(monkeypatch):
    monkeypatch.setattr(memory._core, "pass_objection", lambda _: "its loops are dynamic")
    sentence = r"^tiles need more than SBUF has. None is spilled to HBM: its loops are dynamic.\n"
    with pytest.raises(MemoryError, match=sentence + "tile 'a'"):
        memory.check_fits(program(OVERFLOW))
    with pytest.raises(MemoryError, match="no compiler of its generation has been measured"):
        memory.check_fits(program(OVERFLOW, generation=99))


def test_every_kind_of_spill_is_told_of():
    numbers = dict.fromkeys(
        ("saves", "save_bytes", "reloads", "reload_bytes", "repeated_loads", "repeated_bytes",
         "psum_copies", "psum_bytes"), 0
    )  # fmt: skip
    for number, size in (("saves", "save_bytes"), ("repeated_loads", "repeated_bytes")):
        spilled = SimpleNamespace(
            kernel="k", architecture="trn2", spills={**numbers, number: 3, size: 96}
        )
        with pytest.warns(UserWarning, match=r"3 .* \(96 bytes\)"):
            memory.warn_of_spills(spilled)
