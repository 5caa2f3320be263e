"""Tables as text, CSV, Markdown and HTML."""

import csv
import io
from html.parser import HTMLParser

import pytest
from neuron_sim.terminal.tables import (
    as_csv,
    as_html,
    as_markdown,
    as_text,
    cell,
    columns_of,
    print_table,
)

ROWS = [
    {"name": "a|b", "n": 12345, "x": 0.123456, "flag": True},
    {"name": "<b>&", "n": 7, "x": None, "error": "no"},
]


class Cells(HTMLParser):
    """The texts of the cells of a page, line by line."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines: list[list[str]] = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.lines.append([])
        elif tag in ("td", "th"):
            self.lines[-1].append("")

    def handle_data(self, data):
        if self.lines and self.lines[-1]:
            self.lines[-1][-1] += data


def test_columns_are_in_the_order_of_their_first_appearance():
    assert columns_of(ROWS) == ["name", "n", "x", "flag", "error"]
    assert columns_of([]) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "yes"), (False, "no"), (9999, "9999"), (10000, "10,000"),
     (-10000, "-10,000"), (0.0, "0"), (1234.5678, "1235"), (12345.678, "12,346"),
     (float("nan"), "nan"), ("x", "x")],
)  # fmt: skip
def test_cells_are_short_and_exact_where_they_are_whole(value, text):
    assert cell(value) == text


def test_text_is_aligned_and_lines_end_with_their_last_word(capsys):
    print_table(ROWS, ["name", "n", "x"], title="Two rows")
    assert capsys.readouterr().out == (
        "Two rows\nname       n       x\na|b   12,345  0.1235\n<b>&       7\n"
    )


def test_text_is_what_is_printed_to_a_file(capsys):
    print_table(ROWS, title="Two rows")
    assert capsys.readouterr().out == as_text(ROWS, title="Two rows")
    assert as_text(ROWS, ["n"]) == "     n\n12,345\n     7\n"


def test_long_lines_of_a_file_are_not_broken(capsys):
    print_table([{"text": "word " * 100}])
    assert capsys.readouterr().out == f"text\n{('word ' * 100).rstrip()}\n"


def test_csv_has_all_digits():
    read = list(csv.DictReader(io.StringIO(as_csv(ROWS))))
    assert read[0] == {"name": "a|b", "n": "12345", "x": "0.123456", "flag": "True", "error": ""}
    assert as_csv(ROWS, ["n"]) == "n\n12345\n7\n"


def test_markdown_escapes_bars():
    assert as_markdown(ROWS, ["name", "n"]) == (
        "| name | n |\n| --- | ---: |\n| a\\|b | 12,345 |\n| <b>& | 7 |\n"
    )


def test_html_escapes_texts():
    page = as_html(ROWS, ["name", "n"], title="<T>")
    assert Cells(page).lines == [["name", "n"], ["a|b", "12,345"], ["<b>&", "7"]]
    assert "<b>" not in page and "<caption>&lt;T&gt;</caption>" in page
    assert Cells(as_html([])).lines == [[]]
