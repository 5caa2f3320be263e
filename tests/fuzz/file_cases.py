"""Damaged files of every kind that the simulator reads: one class of error, no traceback, no crash.

Architectures (TOML), programs and profiles (.neff, .ntff), measurements (JSON), traces (CSV, JSON).
"""

from __future__ import annotations

import functools
import io
import json
import math
import random
import tempfile
import zipfile
from pathlib import Path

import commands
import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
from findings import FoundError, source_of
from mutations import damaged_bytes, nested, other_lines, other_numbers, other_value
from neuron_sim import _core
from neuron_sim.fidelity.measurement import PUBLISHED
from neuron_sim.fidelity.replay.reader import TRACES
from neuron_sim.nki.measurement import program_file

_ROOT = Path(__file__).parents[2]
_FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-files"))
_REFUSALS = (ValueError, TypeError, MemoryError, NotImplementedError)
_TRACE = "fused_bf16_s512"
_ENTRY = '{} = {{ value = {}, unit = "{}", source = "fuzz", certainty = "assumed" }}\n'


@functools.cache
def _architecture(name: str) -> str:
    return (_ROOT / "device" / "arch" / f"{name}.toml").read_text()


def _overlay(source: random.Random) -> str:
    """A file that changes some facts of an architecture."""
    name = source.choice(("trn1", "trn2", "trn3"))
    facts = _core.architecture_facts(name)
    text = f'base = "{name}"\n'
    for key in source.sample(list(facts), source.choice((1, 2, 4))):
        fact = facts[key]
        table, _, field = key.rpartition(".")
        value = fact["value"] * source.choice((0.5, 1, 2, 1000, -1, 1e-9, 1e9, 0))
        number = source.choice((f"{value}", f"{int(value)}", f"{value:.17e}"))
        text += f"[{table}]\n" + _ENTRY.format(field, number, fact["unit"])
    return text


def _damaged(source: random.Random, text: str) -> bytes:
    way = source.random()
    if way < 0.03:
        return (text + "\nx = " + nested(source)).encode()
    if way < 0.55:
        return other_numbers(source, text).encode()
    if way < 0.7:
        return other_lines(source, text).encode()
    return damaged_bytes(source, text.encode())


def _use_architecture(path: str) -> None:
    """Times kernels on it; every time is a finite number that is not negative."""
    x = [[5, 7], [5, 7]]
    shapes = {"vector_add": x, "matmul": [[65, 70], [70, 33]], "transpose": [[40, 30]]}
    for kernel, sizes in shapes.items():
        time = _core.time_kernel(kernel, sizes, architecture=path)
        for name in ("body_us", "latency_us", "profile_us"):
            if not (math.isfinite(time[name]) and time[name] >= 0):
                raise FoundError(f"an architecture gives a {name} that is no time", f"{time[name]}")
        _core.build_kernel(kernel, sizes, architecture=path).perfetto()


def architecture(source: random.Random) -> str:
    path = _FOLDER / "arch.toml"
    whole = source.random() < 0.2
    text = _architecture(source.choice(("trn1", "trn2", "trn3"))) if whole else _overlay(source)
    data = text.encode() if source.random() < 0.2 and not whole else _damaged(source, text)
    path.write_bytes(data)
    try:
        _core.architecture_facts(str(path))
        _use_architecture(str(path))
    except _REFUSALS as error:
        if not str(error).strip() or len(str(error)) > commands.LONGEST:
            raise FoundError("an architecture is refused without a sentence", repr(error)) from None
        return "refused"
    except FoundError as error:
        raise FoundError(error.kind, f"{error.text}\n{data[:1500]!r}") from None
    return "accepted"


@functools.cache
def _profiles() -> dict[str, bytes]:
    """The bytes of a program file and of its trace."""

    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nl.load(x) * 2)
        return out

    traced = kernel.traced(np.zeros((4, 6), np.float32))
    program_file.save_program(traced, _FOLDER / "whole.neff")
    program_file.save_trace(traced, _FOLDER / "whole.ntff")
    return {end: (_FOLDER / f"whole.{end}").read_bytes() for end in ("neff", "ntff")}


def _damaged_archive(source: random.Random, data: bytes) -> bytes:
    if source.random() < 0.3:
        return damaged_bytes(source, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = source.choice(list(members))
    way = source.random()
    if way < 0.1:
        del members[name]
    elif way < 0.2:
        members[name] = nested(source).encode()
    elif way < 0.8 and name.endswith(".json"):
        members[name] = json.dumps(other_value(source, json.loads(members[name]))).encode()
    else:
        members[name] = damaged_bytes(source, members[name])
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in members.items():
            archive.writestr(each, content)
    return result.getvalue()


def profile(source: random.Random) -> str:
    end = source.choice(("neff", "ntff"))
    path, written = _FOLDER / f"case.{end}", _FOLDER / "written.json"
    path.write_bytes(_damaged_archive(source, _profiles()[end]))
    if end == "neff" and source.random() < 0.3:
        arguments = ["profile", "capture", "-n", str(path), "-s", str(written)]
    else:
        form = source.choice(("db", "summary-text", "summary-json", "json", "perfetto"))
        arguments = ["profile", "view", "-n" if end == "neff" else "-s", str(path)]
        arguments += ["--output-format", form, "--output-file", str(written)]
    return f"status {commands.run(arguments).status}"


@functools.cache
def _measurements() -> list[dict]:
    quick = ("vector_add", "engine", "transpose", "gemm")
    entries = json.loads(PUBLISHED.read_text())
    return [entry for entry in entries if entry["family"] in quick][:12]


def measurements(source: random.Random) -> str:
    path = _FOLDER / "measurements.json"
    document = source.sample(_measurements(), source.choice((1, 1, 2)))
    way = source.random()
    if way < 0.1:
        data = nested(source).encode()
    elif way < 0.7:
        data = json.dumps(other_value(source, document)).encode()
    else:
        data = damaged_bytes(source, json.dumps(document).encode())
    path.write_bytes(data)
    arguments = ["fidelity", "--data", str(path), "--output", str(_FOLDER / "report.json")]
    if source.random() < 0.5:
        arguments += ["--stack", "off"]
    return f"status {commands.run(arguments).status}"


@functools.cache
def _trace_files(rows: int) -> dict[str, str]:
    """The files of a real trace, its first rows only."""
    files = {}
    for part in ("_instructions.csv", "_dma.csv", "_semaphores.csv", "_pe_clock.csv"):
        lines = (TRACES / f"{_TRACE}{part}").read_text().split("\n")
        files[part] = "\n".join(lines[: rows + 1]) + "\n"
    files["_summary.json"] = (TRACES / f"{_TRACE}_summary.json").read_text()
    return files


def trace(source: random.Random) -> str:
    files = dict(_trace_files(source.choice((3, 10, 30, 60))))
    part = source.choice(list(files))
    if part.endswith(".json") and source.random() < 0.6:
        document = other_value(source, json.loads(files[part]))
        files[part] = nested(source) if source.random() < 0.1 else json.dumps(document)
    data = {name: text.encode() for name, text in files.items()}
    if not part.endswith(".json"):
        data[part] = _damaged(source, files[part])
    for name, content in data.items():
        (_FOLDER / f"trace{name}").write_bytes(content)
    if source.random() < 0.02:
        (_FOLDER / f"trace{part}").unlink()
    return f"status {commands.run(['replay', str(_FOLDER / 'trace')]).status}"


_KINDS = (architecture, architecture, profile, measurements, trace)


def run_case(seed: int) -> str:
    """Reads one damaged file."""
    source = source_of("files", seed)
    kind = source.choice(_KINDS)
    try:
        return f"{kind.__name__}: {kind(source)}"
    except FoundError as error:
        raise FoundError(f"{kind.__name__}: {error.kind}", error.text) from None
