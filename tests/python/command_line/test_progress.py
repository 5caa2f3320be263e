"""The progress bar: for terminals, and only for what lasts."""

import io
import sys
import time

import pytest
from neuron_sim.terminal import progress
from neuron_sim.terminal.progress import Progress


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


def on_terminal(monkeypatch):
    """A terminal as stderr, on which bars appear at once."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def awaited(stream, text, seconds=30):
    """Whether the text appears in time."""
    end = time.monotonic() + seconds
    while text not in stream.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    return text in stream.getvalue()


def test_a_bar_appears_while_one_call_lasts_and_counts(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with Progress("counting") as bar:
        assert awaited(terminal, "counting")
        for _ in bar.over(range(3), 3):
            pass
        assert awaited(terminal, "3/3")


def test_a_number_that_nobody_knows_is_a_question_mark(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with Progress("searching") as bar:
        bar(7, None)
        assert awaited(terminal, "7/?")


@pytest.mark.parametrize(("stream", "patience"), [(Terminal(), 1e6), (io.StringIO(), 0.0)])
def test_quick_work_and_files_get_no_bar(monkeypatch, stream, patience):
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    with Progress("counting") as bar:
        assert list(bar.over("abc", 3)) == ["a", "b", "c"]
    assert stream.getvalue() == ""


def test_an_item_counts_when_the_next_one_is_asked_for():
    counts = []

    class Counted(Progress):
        def __call__(self, done, total):
            counts.append((done, total))

    for item in Counted("counting").over([10, 20], 2):
        counts.append(item)
    assert counts == [(0, 2), 10, (1, 2), 20, (2, 2)]


def test_what_is_printed_goes_to_stdout_and_not_into_the_bar(monkeypatch, capsys):
    terminal = on_terminal(monkeypatch)
    with Progress("counting"):
        assert awaited(terminal, "counting")
        print("a result")
    assert capsys.readouterr().out == "a result\n"
