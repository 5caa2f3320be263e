"""The progress bar: for terminals, and only for what lasts."""

import io
import sys

import pytest
from neuron_sim import progress
from neuron_sim.progress import Progress


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "patience", "shows"),
    [(Terminal(), 0.0, True), (Terminal(), 1e9, False), (io.StringIO(), 0.0, False)],
)
def test_a_bar_is_for_terminals_and_for_work_that_lasts(monkeypatch, stream, patience, shows):
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm")
    with Progress("counting") as bar:
        for done in range(4):
            bar(done, 3)
    assert ("counting" in stream.getvalue()) is shows
    assert ("3/3" in stream.getvalue()) is shows
