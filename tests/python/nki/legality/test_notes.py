"""Values that the chip computes otherwise: notes of a verdict, and lines of a run."""

import neuron_sim
import neuron_sim.nki.language as nl
import pytest
from legality_harness import kernel_of
from neuron_sim.nki.legality.rules import rules
from neuron_sim.nki.typing import tensor
from test_rules import OLD, OLD_IMPORTS, arrays, body

BIASED = "nisa.activation(dst=t, data=t, op=nl.copy, bias=u[:, 0:1])"
INTEGERS = """
n = nl.ndarray((128, 64), dtype=nl.int32, buffer=nl.sbuf)
nisa.tensor_copy(dst=n, src=t)
nisa.tensor_tensor(dst=n, data1=n, data2=n, op=nl.add{engine})
nisa.tensor_copy(dst=t, src=n)"""
SPREAD = """
wide = nl.zeros((nl.par_dim(128), 4, 64), dtype=a.dtype, buffer=nl.sbuf)
t[...] = nl.sum(nl.multiply(wide, u.reshape((128, 1, 64))), axis=1)"""


def activation(op):
    return body(f"nisa.activation(dst=t, data=t, op=nl.{op})")


@pytest.mark.parametrize(
    ("rule", "text", "is_printed"),
    [
        ("VA-COPYB", body(BIASED), True),
        ("VA-INT24", body(INTEGERS.format(engine=", engine=nisa.vector_engine")), True),
        ("VA-EXP", activation("exp"), False),
        ("VA-SIG", activation("sigmoid"), False),
        ("VA-SUM", body("nisa.tensor_reduce(dst=t[:, 0:1], op=nl.add, data=u, axis=1)"), False),
    ],
)
def test_a_note_is_in_the_verdict_and_refuses_nothing(
    rule, text, is_printed, tmp_path, monkeypatch, capfd
):
    kernel = kernel_of(tmp_path, text)
    inputs = dict.fromkeys("ab", tensor[[128, 64], nl.float32])
    result = neuron_sim.check(kernel, inputs, legality="documented")
    row = next(row for row in result["legal"]["rules"] if row["rule"] == rule)
    assert not row["refused"] and row["source"] == rules()[rule].source
    assert f"meets {rule}: the chip computes otherwise: " in row["sentence"]
    assert row["line"].startswith(str(tmp_path))
    monkeypatch.setenv("NEURON_SIM_LEGALITY", "warn")
    capfd.readouterr()
    kernel(*arrays())
    assert (f": note: kernel 'kernel' meets {rule}: " in capfd.readouterr().err) == is_printed


def test_integers_of_gpsimd_and_other_activations_are_no_notes(tmp_path):
    inputs = dict.fromkeys("ab", tensor[[128, 64], nl.float32])
    exact = body(INTEGERS.format(engine=", engine=nisa.gpsimd_engine"))
    for text in (exact, activation("relu")):
        rows = neuron_sim.check(kernel_of(tmp_path, text), inputs)["legal"]["rules"]
        assert not [row["rule"] for row in rows if row["rule"].startswith("VA-")]


def test_a_product_that_spreads_over_a_dimension_is_a_note_of_the_old_language(
    tmp_path, monkeypatch, capfd
):
    monkeypatch.setenv("NEURON_SIM_LEGALITY", "warn")
    loop = OLD.replace("for i in nl.affine_range(3):", "if True:")
    kernel_of(tmp_path, body(SPREAD, OLD_IMPORTS, loop))(*arrays())
    told = capfd.readouterr().err
    assert "meets VA-BC3: " in told and "[aws#1138]" in told


MOVED = """
n = nl.ndarray((1, 8), dtype=nl.int32, buffer=nl.sbuf)
nisa.memset(dst=n, value=0)
row = a.ap([[64, 1], [1, 64]], 0, scalar_offset=n[:, {first}:{first} + 1])
nisa.dma_copy(dst=t[0:1, :], src=row)"""


@pytest.mark.parametrize(("first", "is_noted"), [(0, False), (3, True)])
def test_a_dynamic_offset_from_within_a_tile_is_a_note(first, is_noted, tmp_path):
    inputs = dict.fromkeys("ab", tensor[[128, 64], nl.float32])
    kernel = kernel_of(tmp_path, body(MOVED.format(first=first)))
    told = [row["sentence"] for row in neuron_sim.check(kernel, inputs)["legal"]["rules"]]
    assert any("meets VA-APOFF: " in each for each in told) == is_noted


INTERLEAVED = """
both = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)
for part in (0, 32, 0, 32):
    nisa.nc_matmul(dst=both[:64, part:part + 32], stationary=t, moving=u[:, :32])
nisa.tensor_copy(dst=t[:64, :], src=both[:64, :])"""
HALF = """
half = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy(dst=half[:, :32], src=t[:, :32])
nisa.tensor_copy(dst=t, src=half)"""


@pytest.mark.parametrize(("rule", "text"), [("VA-PSUMGRP", INTERLEAVED), ("VA-UNINIT", HALF)])
def test_a_value_that_the_sanitizer_judges_is_its_finding(rule, text, tmp_path):
    inputs = dict.fromkeys("ab", tensor[[128, 64], nl.float32])
    found = neuron_sim.check(kernel_of(tmp_path, body(text)), inputs)["clean"]["findings"]
    assert rules()[rule].finding in {row["rule"] for row in found}


def test_a_value_is_a_note_a_finding_or_has_a_reason():
    values = {each.id: each for each in rules().values() if each.id.startswith("VA-")}
    assert len(values) >= 14
    for rule in values.values():
        assert (rule.judged == "sanitizer") == bool(rule.finding)
        assert (rule.judged == "no") == bool(rule.why)
