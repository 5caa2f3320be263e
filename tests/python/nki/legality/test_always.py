"""Rules that are errors at every level: a verdict names the rule that such an error is about."""

import neuron_sim
import neuron_sim.nki.language as nl
import pytest
from legality_harness import kernel_of
from neuron_sim.nki.legality.rules import rules
from neuron_sim.nki.typing import tensor
from test_rules import OLD, OLD_IMPORTS, body

SMALL = (
    "s = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\nnisa.memset(dst=s, value=1.0)\n"
)
PSUM = (
    "p = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)\n"
    "q = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)\n"
    "nisa.memset(dst=p, value=1.0)\nnisa.memset(dst=q, value=1.0)\n"
)
WIDE = (
    "w = nl.ndarray((128, 1024), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
    "nisa.memset(dst=w, value=1.0)\n"
    "r = nl.ndarray((128, 1024), dtype=nl.float32, buffer=nl.psum)\n"
)
HALF = """
w = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
nisa.memset(dst=w, value=1.0)
p = nl.ndarray((64, 64), dtype=nl.bfloat16, buffer=nl.psum)
nisa.nc_matmul(dst=p, stationary=w, moving=w)"""
MX = """
x = nl.ndarray((128, 64), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)
s = nl.ndarray((128, 64), dtype=nl.uint8, buffer=nl.sbuf)
p = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul_mx(dst=p, stationary=x, moving=x, stationary_scale=s, moving_scale=s)"""
CASES = [
    ("NM-INVENT", "nisa.multiply(t, t, u)"),
    (
        "NM-INVENT",
        PSUM + "nisa.nc_matmul(dst=p[0:64], stationary=t, moving=u, transpose_moving=True)",
    ),
    ("NM-INVENT", "x = nl.tile_size()"),
    ("SH-PSTART", "nisa.activation(dst=t[1:2], data=u[1:2], op=nl.exp)"),
    ("SH-PCOUNT", "nisa.tensor_copy(dst=t[32:96], src=u[32:96])"),
    ("SH-PSTART", "nisa.tensor_copy(dst=t[0:1], src=u[5:6])"),
    ("SH-BCAST", SMALL + "nisa.tensor_tensor(dst=t, data1=t, data2=s, op=nl.add)"),
    ("SH-DSTN", SMALL + "nisa.tensor_scalar(dst=t, data=s, op0=nl.multiply, operand0=2.0)"),
    ("SH-DSTN", SMALL + "nisa.activation(dst=t, data=s, op=nl.exp)"),
    ("SH-DSTN", SMALL + "nisa.tensor_copy(dst=t, src=s)"),
    ("SH-REDDST", "nisa.tensor_reduce(dst=t, op=nl.add, data=u, axis=1)"),
    ("SH-AXIS0", "nisa.tensor_reduce(dst=t[0:1], op=nl.add, data=u, axis=0)"),
    ("SH-DMAN", "nisa.dma_copy(dst=t[:, 0:32], src=a)"),
    (
        "SH-PMAX",
        "x = nl.ndarray((256, 64), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.memset(dst=x, value=0.0)",
    ),
    ("SH-2D", "x = nl.ndarray((128,), dtype=nl.float32, buffer=nl.sbuf)"),
    ("SH-OOB", "nisa.tensor_copy(dst=t[:, 0:65], src=u)"),
    ("EN-PSUM2", PSUM + "nisa.tensor_tensor(dst=t, data1=p, data2=q, op=nl.add)"),
    (
        "EN-GPPSUM",
        PSUM + "nisa.tensor_tensor(dst=t, data1=p, data2=u, op=nl.add, engine=nisa.gpsimd_engine)",
    ),
    ("EN-MMFREE", WIDE + "nisa.nc_matmul(dst=r, stationary=w[:, 0:128], moving=w)"),
    (
        "EN-MMSTAT",
        WIDE + "nisa.nc_matmul(dst=r[:, 0:64], stationary=w[:, 0:256], moving=w[:, 0:64])",
    ),
    ("EN-MMPSUM", "nisa.nc_matmul(dst=t[0:64], stationary=t, moving=u)"),
    ("EN-OPCOL", "nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=u)"),
    (
        "EN-T32",
        "nisa.nc_transpose(dst=t[0:64, 0:64], data=u[0:64, 0:64], engine=nisa.vector_engine)",
    ),
    ("ME-PSUMDMA", PSUM + "nisa.dma_copy(dst=p, src=a)"),
    ("ME-HBMOP", "nisa.tensor_copy(dst=t, src=a)"),
    ("EN-MX", MX),
    ("EN-MMDST32", HALF),
    ("EN-LNB", "nisa.activation(dst=t, data=t, op=nl.log, bias=1.0)"),
]
OTHERS = {"SH-XPART": "SH-PSTART", "ME-INPLACE": "", "LN-GRID": ""}
"""Rules that another one says, or that tests below break."""

INPUTS = dict.fromkeys("ab", tensor[[128, 64], nl.float32])


def first_rule(kernel):
    result = neuron_sim.check(kernel, INPUTS)
    assert not result["passed"] and result["correct"] is None
    return result["legal"]["rules"][0]


@pytest.mark.parametrize(("rule", "text"), CASES, ids=[rule for rule, _ in CASES])
def test_the_first_rule_of_a_verdict_is_that_of_its_error(rule, text, tmp_path, monkeypatch):
    if 3 not in rules()[rule].generations:
        monkeypatch.setenv("NEURON_SIM_ARCH", "trn1")
    row = first_rule(kernel_of(tmp_path, body(text)))
    assert (row["rule"], row["refused"]) == (rule, True), row["sentence"]
    assert row["source"] == rules()[rule].source
    assert row["line"].startswith(str(tmp_path))


def test_a_grid_and_an_input_that_is_written_name_their_rules(tmp_path):
    assert first_rule(kernel_of(tmp_path, body("pass"))[3])["rule"] == "LN-GRID"
    stored = body("nl.store(a, value=u)", OLD_IMPORTS, OLD)
    assert first_rule(kernel_of(tmp_path, stored))["rule"] == "ME-INPLACE"


def test_every_rule_that_is_always_an_error_has_a_case():
    always = {rule.id for rule in rules().values() if rule.judged == "always"}
    assert {rule for rule, _ in CASES} | set(OTHERS) == always


def test_an_error_of_no_rule_names_its_type(tmp_path):
    assert first_rule(kernel_of(tmp_path, body("x = 1 / 0")))["rule"] == "ZeroDivisionError"
