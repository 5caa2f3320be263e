#!/usr/bin/env python3
"""Writes docs/instructions.md: a row for every instruction, from its header, the field tables, and
the call in tests/python/nki/isa/isa_functions whose cost, or else whose limit, the tests prove.

Usage: write_instruction_docs.py [--check]; --check writes nothing and ends with 1 if the page is
stale.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import neuron_sim._core as core
import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
from generated_page import fill, write_or_check

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "instructions.md"
ARCHITECTURES = ["trn1", "trn2", "trn3"]
CALLS = ROOT / "tests/python/nki/isa/isa_functions"
sys.path[:0] = [str(CALLS.parent), str(CALLS.parents[1])]
FUNCTIONS: dict[str, Any] = importlib.import_module("isa_functions").FUNCTIONS
ELEMENTS = 512
"""Elements per partition in the calls whose cost is known."""

COMMENT = re.compile(r"((?:^///[^\n]*\n)+)", re.MULTILINE)
SENTENCE_END = re.compile(r"(?<!\.)\.(?=\s|$)")
ENGINE_RULE = re.compile(r"^/// EngineKind::kAuto: ([^.]*)\.", re.MULTILINE)
ENGINE_FIELD = re.compile(r"EngineKind engine = [^;]*;[ ]*///<[ ]*([^\n]*(?:\n[ ]*///<[^\n]*)*)")


def sentence(comment: str) -> str:
    """The first sentence of a /// comment, on one line and safe within a table."""
    text = " ".join(line.removeprefix("///").strip() for line in comment.splitlines())
    end = SENTENCE_END.search(text)
    if end is None:
        raise SystemExit(f"no sentence ends in: {text}")
    return text[: end.end()].strip().replace("|", "\\|")


def header(name: str) -> Path:
    """The header of an instruction or query, in its folder of device/isa."""
    found = sorted((ROOT / "device" / "isa").rglob(f"{name}.h"))
    if len(found) != 1:
        raise SystemExit(f"device/isa has {len(found)} headers {name}.h; expected one")
    return found[0]


def link(name: str) -> str:
    """The name, linked to its header."""
    return f"[{name}](../{header(name).relative_to(ROOT).as_posix()})"


def documented(name: str, declaration: str) -> str:
    """First sentence of the comment above the line of its header that matches."""
    content = header(name).read_text(encoding="utf-8")
    for comment in COMMENT.finditer(content):
        following = content[comment.end() :].split("\n};", 1)[0]
        if re.match(declaration, following, re.DOTALL):
            return sentence(comment.group(1))
    raise SystemExit(f"{header(name).relative_to(ROOT)} has no documented struct or function")


def engine(name: str, entries: dict[str, dict[str, Any]]) -> str:
    """What the header says of the engine, else the default of every architecture."""
    content = header(name).read_text(encoding="utf-8")
    field = ENGINE_FIELD.search(content)
    if field is not None:
        return " ".join(field.group(1).replace("///<", " ").split()).replace("|", "\\|")
    rule = ENGINE_RULE.search(content)
    if rule is not None:
        return " ".join(rule.group(1).replace("///", " ").split()).replace("|", "\\|")
    defaults = {architecture: entry["engine"] for architecture, entry in entries.items()}
    if len(set(defaults.values())) == 1:
        return defaults[ARCHITECTURES[0]] or "depends on the operands"
    return ", ".join(f"{value} ({key})" for key, value in defaults.items())


class _WithValue(ast.NodeTransformer):
    """Puts a value in place of a name, and computes what then has only numbers."""

    def __init__(self, name: str, value: object) -> None:
        self.name, self.value = name, ast.parse(repr(value), mode="eval").body

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.value if node.id == self.name else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        made = self.generic_visit(node)
        if any(isinstance(part, ast.Name) for part in ast.walk(made)):
            return made
        return ast.Constant(ast.literal_eval(repr(eval(ast.unparse(made)))))


def example(name: str) -> tuple[str, list[str]]:
    """A call of an instruction in a table's cell, and its nanoseconds on each architecture."""
    row = FUNCTIONS[name]
    costs = row.costs if isinstance(row.costs, dict) else {"": row.costs}
    chosen = next(iter(costs.values()), row.limit)
    if chosen is None:
        return "", ["" for _ in ARCHITECTURES]
    value = ELEMENTS if costs else row.limit.sides[0]
    cores = 1 if costs else row.limit.cores
    code = chosen.body.__code__
    functions = [
        node
        for node in ast.walk(ast.parse(Path(code.co_filename).read_text(encoding="utf-8")))
        if isinstance(node, ast.Lambda | ast.FunctionDef) and node.lineno == code.co_firstlineno
    ]
    called = (
        functions[0].body[-1] if isinstance(functions[0], ast.FunctionDef) else functions[0].body
    )
    text = ast.unparse(_WithValue(code.co_varnames[0], value).visit(called))
    times = [nanoseconds(name, chosen.body, value, cores, chip) for chip in ARCHITECTURES]
    return f"`{text}`", times


def nanoseconds(name: str, body: Any, value: Any, cores: int, architecture: str) -> str:
    """From the start of the instruction's first step to the end of its last one; "" where the
    architecture does not have it."""

    @nki.jit
    def kernel() -> Any:
        out = nl.ndarray((1, 1), nl.float32, buffer=nl.shared_hbm)
        body(value)
        return out

    call = (kernel[cores] if cores > 1 else kernel).call()
    call.architecture = architecture
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of passes, which one instruction does not need
        try:
            steps = [step for step in call.trace().program.steps() if step["instruction"] == name]
        except NotImplementedError:
            return ""
    first = min(step["start_ns"] for step in steps)
    return f"{max(step['end_ns'] for step in steps) - first:,.0f}"


def instruction_row(name: str, entries: dict[str, dict[str, Any]]) -> str:
    """One line of the table."""
    call, times = example(name)
    existing = [architecture for architecture in ARCHITECTURES if entries[architecture]["exists"]]
    cells = [
        link(name),
        engine(name, entries),
        "all" if existing == ARCHITECTURES else ", ".join(existing),
        *times,
        call,
        documented(name, r"struct \w+ \{.*Draft draft\(\) const;"),
    ]
    return f"| {' | '.join(cells)} |"


def query_row(name: str, values: dict[str, int]) -> str:
    """One line of the table of compile-time queries."""
    cells = [link(name)]
    cells += [str(values[architecture]) for architecture in ARCHITECTURES]
    cells.append(documented(name, rf"int64_t {name}\("))
    return f"| {' | '.join(cells)} |"


def page() -> str:
    """The whole page."""
    tables = {
        architecture: {entry["name"]: entry for entry in core.instruction_table(architecture)}
        for architecture in ARCHITECTURES
    }
    values = {name: core.compile_time_queries(name) for name in ARCHITECTURES}
    instructions = [
        instruction_row(name, {key: table[name] for key, table in tables.items()})
        for name in sorted(core.instructions())
    ]
    queries = [
        query_row(name, {key: answers[name] for key, answers in values.items()})
        for name in sorted(values[ARCHITECTURES[0]])
    ]
    figures = {"instructions": "\n".join(instructions), "queries": "\n".join(queries)}
    return fill(PAGE.name, figures)


if __name__ == "__main__":
    raise SystemExit(write_or_check(PAGE, page()))
