"""Kernels whose source cannot be read, or is no longer what runs: slower or refused, not wrong."""

import importlib.util
import py_compile

import neuron_sim.neuronxcc.nki as nki
import numpy as np
import pytest
from neuron_sim.nki.launch import program_cache
from neuron_sim.nki.syntax.source import syntax_of

A = np.random.default_rng(5).uniform(-1, 1, (4, 8, 6)).astype(np.float32)
COUNTS = np.arange(1, 5, dtype=np.float32).reshape(4, 1, 1)
TEXT = '''
import neuron_sim.neuronxcc.nki.language as nl
import neuron_sim.nki as new
import neuron_sim.nki.isa as nisa
FACTOR = 2.0
def reads(a):
    return scaled(a, FACTOR)
def scaled(a, factor):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(4):
        nl.store(out[i], nl.load(a[i]) * factor)
    return out
def counts(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    count = 0
    for i in nl.affine_range(4):
        count += 1
        nl.store(out[i], nl.load(a[i]) * float(count))
    return out
def leaves(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(4):
        nl.store(out[i], nl.load(a[i]))
        if i == 2:
            return out
def writes(a):
    nl.store(a, nl.add(nl.load(a), 1.0))
def reduces(a):
    out = nl.ndarray(a.shape[1:], dtype=a.dtype, buffer=nl.shared_hbm)
    total = nl.ndarray(a.shape[1:], dtype=a.dtype)
    for i in nl.affine_range(4):
        total = nl.loop_reduce(nl.load(a[i]), op=nl.add, loop_indices=[i])
    nl.store(out, total)
    return out
@new.jit
def waits(a):
    register = nisa.register_alloc(1)
    while register:
        pass
'''  # fmt: skip


def executed(folder, text):
    names = {}
    exec(text, names)
    return names


def changed(folder, text):
    """The file has another text now, of which each analysis would come to another result."""
    file = folder / "kernels.py"
    file.write_text(text)
    names = imported(file)
    other = text.replace("FACTOR)", "   2.0)").replace("count += 1", "other = 1")
    file.write_text(other.replace("total = nl.loop", "other = nl.loop").replace("while", "if   "))
    return names


def compiled_alone(folder, text):
    file = folder / "kernels.py"
    file.write_text(text)
    compiled = py_compile.compile(str(file), cfile=str(folder / "kernels.pyc"))
    file.unlink()
    return imported(compiled)


def imported(file):
    spec = importlib.util.spec_from_file_location("kernels_of_a_test", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


@pytest.fixture(params=[executed, changed, compiled_alone])
def kernels(request, tmp_path):
    return request.param(tmp_path, TEXT)


def test_no_program_is_kept(kernels):
    kernel = nki.jit(kernels["reads"])
    before = program_cache.info()["hits"]
    for factor in (2.0, 2.0, 3.0):
        kernels["FACTOR"] = factor
        assert np.array_equal(kernel(A), A * np.float32(factor))
    assert program_cache.info()["hits"] == before
    assert "the source of 'reads' is not known" in program_cache.info()["last_refusal"]


def test_a_loop_that_hands_a_value_on_is_unrolled(kernels):
    with pytest.warns(UserWarning, match="'count' changes"):
        assert np.allclose(nki.jit(kernels["counts"])(A), A * COUNTS, rtol=1e-6)
    assert nki.jit(kernels["scaled"]).traced(A, 2.0).source.instructions == 3


def test_a_loop_is_left_where_the_kernel_says_so(kernels):
    assert np.array_equal(nki.jit(kernels["leaves"])(A)[:3], A[:3])


def test_a_kernel_that_returns_nothing_writes_to_its_arguments(kernels):
    written = np.ones((4, 8), np.float32)
    nki.jit(kernels["writes"])(written)
    assert np.array_equal(written, np.full((4, 8), 2.0))


def test_what_needs_the_source_is_refused(kernels):
    with pytest.raises(ValueError, match="must be assigned to the tile that accumulates it"):
        nki.jit(kernels["reduces"])(A)
    with pytest.raises(TypeError, match="of a `while` statement whose source can be read"):
        kernels["waits"](A)


def test_a_tree_that_is_known_stays_when_its_file_changes(tmp_path):
    (tmp_path / "kernels.py").write_text(TEXT)
    code = imported(tmp_path / "kernels.py")["counts"].__code__
    known = syntax_of(code)
    (tmp_path / "kernels.py").write_text("")
    assert known is not None and syntax_of(code) is known
