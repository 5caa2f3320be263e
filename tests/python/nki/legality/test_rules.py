"""Each rule that NEURON_SIM_LEGALITY judges, from both sides: a kernel that keeps it runs, one that
breaks it is refused at the level that its evidence allows, at the line, and told of below that."""

import tomllib
from pathlib import Path
from typing import NamedTuple

import neuron_sim.nki.language as nl
import numpy as np
import pytest
from legality_harness import IMPORTS, array_of, kernel_of, refusal_of
from neuron_sim.nki.legality.rules import rules

KERNEL = """
@nki.jit
def kernel(a, b):
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    u = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=a)
    nisa.dma_copy(dst=u, src=b)
    BODY
    nisa.dma_copy(dst=out, src=t)
    return out
"""
OLD = """
@nki.jit
def kernel(a, b):
    out = nl.ndarray((128, 64), dtype=a.dtype, buffer=nl.shared_hbm)
    u = nl.load(b)
    t = nl.zeros((nl.par_dim(128), 64), dtype=a.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(3):
        BODY
    nl.store(out, value=t)
    return out
"""
OLD_IMPORTS = IMPORTS.replace("import nki\n", "from neuronxcc import nki\n").replace(
    "import nki.", "import neuronxcc.nki."
)
SCAN = "t[:, 1:64] = nl.add(t[:, 0:63], u[:, 1:64])"


def body(text, imports=IMPORTS, kernel=KERNEL):
    """A kernel with these lines in its middle; before `---` stands what the module has first."""
    head, _, lines = text.rpartition("---\n")
    indent = next(line for line in kernel.splitlines() if "BODY" in line).partition("BODY")[0]
    return imports + head + kernel.replace("BODY", lines.replace("\n", "\n" + indent))


def changed(old, new):
    """The plain kernel with another text in it."""
    return body("pass").replace(old, new)


def old(text):
    """A body of an affine_range in the old language."""
    return body(text, OLD_IMPORTS, OLD)


def nested(value):
    """The kernel within a function, as a closure or with a constant."""
    inner = (
        body(f"nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0={value})")
        .removeprefix(IMPORTS)
        .replace("\n", "\n    ")
    )
    return f"{IMPORTS}\ndef made(factor):{inner}\n    return kernel\n\nkernel = made(2.0)\n"


class Case(NamedTuple):
    """Texts of a kernel that keeps a rule and of one that breaks it. `says`: the rule in the
    message, where another one says it."""

    rule: str
    kept: str
    broken: str
    architecture: str = "trn2"
    says: str = ""
    version: str = "0.6"


def cases():
    """Those of cases.toml, and those that change other lines of the kernel."""
    for row in tomllib.loads(Path(__file__).with_name("cases.toml").read_text())["case"]:
        inside = old if row.pop("language", "new") == "old" else body
        texts = {name: inside(row[name]) for name in ("kept", "broken")}
        yield Case(**row | texts)
    trace, target = "@nki.jit(mode='trace')", "@nki.jit(platform_target='trn2')"
    yield Case("PY-JITKW", changed("@nki.jit", trace), changed("@nki.jit", target))
    yield Case("PY-GLOBALNAMES", nested(2.0), nested("factor"))
    yield Case("ME-OUT", body("pass"), changed("nl.shared_hbm", "nl.hbm"))
    yield Case("LO-CARRY", old(SCAN).replace("affine", "sequential"), old(SCAN))
    yield Case("LN-INPUTUSE", body("pass"), changed("src=b", "src=a"))


CASES = list(cases())


def arrays():
    return array_of((128, 64), "float32"), array_of((128, 64), "float32")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_a_rule_is_kept_and_broken(case, tmp_path, monkeypatch, capfd):
    rule = rules()[case.says or case.rule]
    level = next(name for name in ("compiler", "documented") if rule.is_refused(name))
    monkeypatch.setenv("NEURON_SIM_ARCH", case.architecture)
    monkeypatch.setenv("NEURON_SIM_NKI_VERSION", case.version)
    monkeypatch.setenv("NEURON_SIM_LEGALITY", level)
    assert refusal_of(kernel_of(tmp_path, case.kept, "kept").traced, *arrays()) is None
    broken = kernel_of(tmp_path, case.broken)
    error = refusal_of(broken.traced, *arrays())
    assert type(error).__name__ == "LegalityError", error
    assert f"breaks {rule.id}, " in str(error) and str(error).endswith(f"; {rule.remedy}.")
    monkeypatch.setenv("NEURON_SIM_LEGALITY", "compiler" if level == "documented" else "warn")
    capfd.readouterr()
    assert refusal_of(broken.traced, *arrays()) is None
    assert f"warning: kernel 'kernel' breaks {rule.id}, " in capfd.readouterr().err


def test_every_rule_that_is_judged_has_a_case():
    elsewhere = {"EN-FP8FN", "EN-T32-OLD", "LN-BARRIER", "LO-CARRY-DIRECT", "ME-2GB", "VA-INT64"}
    judged = {rule.id for rule in rules().values() if rule.judged == "level"}
    assert {case.rule for case in CASES} | elsewhere == judged


def test_a_carried_dependence_that_ran_is_told_of(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("NEURON_SIM_LEGALITY", "documented")
    monkeypatch.setenv("NEURON_SIM_ARCH", "trn1")
    text = old("t[...] = nl.maximum(t, u)").replace(
        "@nki.jit", "from neuronxcc.nki.compiler import skip_middle_end_transformations\n"
        "@nki.jit\n@skip_middle_end_transformations",
    )  # fmt: skip
    assert refusal_of(kernel_of(tmp_path, text).traced, *arrays()) is None
    assert "breaks LO-CARRY-DIRECT, which nobody enforces" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("rule", "version", "is_refused"),
    [
        ("PY-COMP", "0.2", False),
        ("PY-COMP", "0.3", True),
        ("PY-COMP", "0.6", True),
        ("PY-COMP", "0.7", False),
        ("PY-JITKW", "0.3", False),
        ("PY-JITKW", "0.4", True),
        ("EN-DIV", "0.3", True),
        ("EN-DIV", "0.7", True),
        ("LO-DYNGONE", "0.6", False),
    ],
)
def test_a_rule_holds_in_its_versions(rule, version, is_refused, tmp_path, monkeypatch):
    case = next(case for case in CASES if case.rule == rule)
    monkeypatch.setenv("NEURON_SIM_LEGALITY", "compiler")
    monkeypatch.setenv("NEURON_SIM_NKI_VERSION", version)
    error = refusal_of(kernel_of(tmp_path, case.broken).traced, *arrays())
    assert (f"breaks {rule}, " in str(error)) == is_refused, error


@pytest.mark.parametrize(("rows", "columns"), [(64, 128), (128, 33), (48, 40)])
def test_the_old_language_transposes_on_vector_beyond_its_block(
    rows, columns, tmp_path, monkeypatch, capfd
):
    monkeypatch.setenv("NEURON_SIM_LEGALITY", "documented")
    text = (
        OLD_IMPORTS
        + """
@nki.jit
def kernel(a):
    out = nl.ndarray((a.shape[1], a.shape[0]), dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nisa.nc_transpose(nl.load(a), engine=nisa.vector_engine))
    return out
"""
    )
    given = np.random.default_rng(0).random((rows, columns), np.float32)
    assert np.array_equal(kernel_of(tmp_path, text)(given), given.T)
    assert "breaks EN-T32-OLD, which nobody enforces" in capfd.readouterr().err


def test_a_kernel_that_is_written_again_to_its_file_is_judged_again(tmp_path, monkeypatch):
    monkeypatch.setenv("NEURON_SIM_LEGALITY", "compiler")
    assert refusal_of(kernel_of(tmp_path, body("x = 1")).traced, *arrays()) is None
    assert refusal_of(kernel_of(tmp_path, body("import math")).traced, *arrays()) is not None


def test_a_barrier_needs_a_second_core(tmp_path, monkeypatch):
    monkeypatch.setenv("NEURON_SIM_LEGALITY", "compiler")
    both = kernel_of(tmp_path, body("nisa.core_barrier(out, (0, 1))"), "both")
    assert refusal_of(both[2].traced, *arrays()) is None
    error = refusal_of(kernel_of(tmp_path, body("nisa.core_barrier(out, (0,))")).traced, *arrays())
    assert "breaks LN-BARRIER" in str(error)


@pytest.mark.parametrize(
    ("dtype", "architecture"), [("float8_e4m3", "trn2"), ("float8_e4m3fn", "trn3")]
)
def test_a_dtype_may_be_of_a_later_generation(dtype, architecture, tmp_path, monkeypatch):
    monkeypatch.setenv("NEURON_SIM_LEGALITY", "compiler")
    monkeypatch.setenv("NEURON_SIM_ARCH", architecture)
    kernel = kernel_of(tmp_path, body("pass"))
    given = array_of((128, 64), "float32"), array_of((128, 64), dtype)
    assert refusal_of(kernel.traced, *given) is None
    monkeypatch.setenv("NEURON_SIM_ARCH", "trn2")
    error = refusal_of(kernel.traced, given[0], array_of((128, 64), "float8_e4m3fn"))
    assert "breaks EN-FP8FN" in str(error) and "('b')" in str(error)


@pytest.mark.parametrize(("rows", "is_refused"), [(2**23, False), (2**23 + 128, True)])
def test_a_tensor_has_at_most_two_gigabytes(rows, is_refused, tmp_path, monkeypatch):
    monkeypatch.setenv("NEURON_SIM_LEGALITY", "documented")
    declared = type("Declared", (), {"shape": (rows, 64), "dtype": nl.float32})
    kernel = kernel_of(tmp_path, changed("src=b", "src=b[0:128, :]"))
    error = refusal_of(kernel.traced, arrays()[0], declared)
    assert ("breaks ME-2GB" in str(error)) == is_refused


@pytest.mark.parametrize(
    ("value", "arrives"), [(2**31 - 1, None), (2**31, -(2**31)), (2**40 + 5, 5)]
)
def test_a_64_bit_integer_that_loses_its_upper_half_is_named(
    value, arrives, tmp_path, monkeypatch, capfd
):
    text = body("pass").replace("float32", "int32")
    kernel, given = kernel_of(tmp_path, text), array_of((128, 64), "int64")
    given[3, 5] = value
    monkeypatch.setenv("NEURON_SIM_LEGALITY", "documented")
    error = refusal_of(kernel, given, array_of((128, 64), "int64"))
    expected = f"'a'[3, 5] is {value} and arrives as {arrives}"
    assert error is None if arrives is None else expected in str(error)
    monkeypatch.setenv("NEURON_SIM_LEGALITY", "warn")
    assert kernel(given, given)[3, 5] == (value if arrives is None else arrives)
    assert (expected in capfd.readouterr().err) == (arrives is not None)
