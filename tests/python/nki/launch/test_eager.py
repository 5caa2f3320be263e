"""Eager execution: instructions run as they are traced, with the bytes of the usual run."""

import io
import pdb
import runpy
import sys
from pathlib import Path

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.compiler as ncc
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm, uniform
from neuron_sim import settings
from neuron_sim.nki.launch.eager import eagerly
from nki_errors import error_of

F32 = np.float32
ROOT = Path(__file__).resolve().parents[4]
A = np.arange(18, dtype=F32).reshape(6, 3)


def module_of(path, monkeypatch):
    """The names of a module of the repository that imports the languages as users do."""
    for alias, package in (("neuronxcc", "neuron_sim.neuronxcc"), ("neuronxcc.nki", old.__name__)):
        monkeypatch.setitem(sys.modules, alias, sys.modules[package])
    for name in ("language", "isa", "typing", "compiler"):
        own = sys.modules.get(f"{old.__name__}.{name}")
        if own is not None:
            monkeypatch.setitem(sys.modules, f"neuronxcc.nki.{name}", own)
    monkeypatch.syspath_prepend(str((ROOT / path).parent))
    return runpy.run_path(str(ROOT / path), run_name="module")


def both(kernel, *arrays, **options):
    """Bytes of the results of a kernel, as usual and eagerly."""
    results = []
    for active in (False, True):
        copies = [each.copy() if isinstance(each, np.ndarray) else each for each in arrays]
        with eagerly(active):
            found = kernel(*copies, **options)
        found = found if isinstance(found, tuple) else (found,)
        results.append([each.tobytes() for each in (*found, *copies) if hasattr(each, "tobytes")])
    return results


EXAMPLES = {
    "conv2d_nki": ("conv2d", [(1, 128, 6, 10), (128, 128, 3, 3), (128,)], {}),
    "fused_conv2d_maxpool": (
        "conv2d", [(1, 128, 10, 12), (128, 128, 3, 3), (128,)], {"pool_size": 2}
    ),
    "matrix_transpose": ("transpose", [(128, 256)], {}),
    "nki_bias_add_act": ("ffnn", [(128, 512), (1, 512)], {}),
    "nki_forward": (
        "ffnn", [(256, 128), (128, 512), (1, 512), (512, 512), (1, 512)], {}
    ),
    "nki_predict": (
        "ffnn", [(256, 128), (128, 512), (1, 512), (512, 512), (1, 512)], {}
    ),
    "vector_add_allocated": ("vector_add", [(256000,), (256000,)], {}),
    "vector_add_rows": ("vector_add", [(2560,), (2560,)], {}),
    "vector_add_tiles": ("vector_add", [(256000,), (256000,)], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_in_the_old_language_has_the_bytes_of_the_usual_run(name, monkeypatch):
    file, shapes, options = EXAMPLES[name]
    kernel = module_of(f"models/nki/{file}.py", monkeypatch)[name]
    usual, eager = both(kernel, *[uniform(*shape) for shape in shapes], **options)
    assert usual == eager


@pytest.mark.parametrize("language", ["old", "new"])
def test_kernels_of_all_forms_have_the_bytes_of_the_usual_run(language, monkeypatch):
    names = module_of(f"benchmarks/nki_{language}_kernels.py", monkeypatch)
    for kernel in names["KERNELS"]:
        kernel.func.__globals__["INSTRUCTIONS"] = 48
        usual, eager = both(kernel, uniform(128, 512) / 16)
        assert usual == eager, kernel.__name__
    assert len(names["KERNELS"]) >= 5


@nki.jit
def softmax(a):
    """Rows of several tiles, with reductions and in bfloat16."""
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(a.shape[0] // 128):
        x = nl.load(a[nl.ds(i * 128, 128)], dtype=nl.bfloat16)
        shifted = nl.exp(nl.subtract(x, nl.max(x, axis=1, keepdims=True)))
        total = nl.sum(shifted, axis=1, keepdims=True)
        nl.store(out[nl.ds(i * 128, 128)], nl.divide(shifted, total))
    return out


@nki.jit
def scaled_in_scratch(a):
    """Through a private tensor in HBM, and memory that nothing writes."""
    kept = nl.ndarray(a.shape, a.dtype, buffer=nl.private_hbm)
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(a.shape, a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=a)
    nisa.dma_copy(dst=kept, src=tile)
    half = nl.ndarray(a.shape, a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=half[0:3], src=kept[0:3])
    nisa.tensor_scalar(dst=half, data=half, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=half)
    return out


@old.jit
def gathered(a, rows):
    index = old_nl.load(rows)
    columns = old_nl.arange(3)[None, :]
    return in_hbm(old_nl, old_nl.load(a[index[old_nl.arange(6)[:, None], 0], columns]))


@old.jit
def doubled_in_place(a: old.typing.mutable_tensor):
    old_nl.store(a, old_nl.load(a) * 2)
    return a


@old.jit
def of_a_grid(a):
    out = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
    rows = old_nl.ds(old_nl.program_id(0) * 2, 2)
    old_nl.store(out[rows], old_nl.load(a[rows]) + 1)
    return out


@pytest.mark.parametrize(("kernel", "arrays"), [
    (softmax, (uniform(256, 40),)),
    (scaled_in_scratch, (A,)),
    (gathered, (A, np.array([[5], [0], [3], [3], [1], [2]], np.int32))),
    (doubled_in_place, (A,)),
    (of_a_grid[3], (A,)),
], ids=["softmax", "scratch", "gather", "in place", "grid"])  # fmt: skip
def test_a_kernel_has_the_bytes_of_the_usual_run(kernel, arrays):
    usual, eager = both(kernel, *arrays)
    assert usual == eager


@pytest.mark.parametrize("dtype", [
    "float32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2", "int32", "uint32", "int16",
    "uint16", "int8", "uint8",
])  # fmt: skip
def test_arguments_of_every_dtype_have_the_bytes_of_the_usual_run(dtype):
    @nki.jit
    def kernel(a, b):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.add(nl.load(a), nl.load(b)))
        return out

    a, b = (np.arange(12 * k).reshape(k, 12)[:1].astype(getattr(nl, dtype).numpy) for k in (1, 2))
    usual, eager = both(kernel, a, b)
    assert usual == eager and usual[0] == (a + b).tobytes() != a.tobytes()


def test_the_vendors_simulation_has_the_bytes_of_the_usual_run():
    @old.jit
    def kernel(a):
        x = old_nl.load(a, dtype=old_nl.bfloat16)
        return in_hbm(old_nl, old_nl.exp(x) * 1.001)

    usual, eager = both(lambda a: old.simulate_kernel(kernel, a), uniform(6, 3))
    assert usual == eager


def test_a_tile_shows_its_values_at_each_point():
    seen = []

    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(3):
            x = nl.load(a[nl.ds(i * 2, 2)])
            seen.append((i, repr(x), x.numpy(), (x * 2)[:, 1:3].numpy()))
            nl.store(out[nl.ds(i * 2, 2)], x)
        seen.append(out.numpy())
        return out

    with eagerly():
        kernel(A)
    assert np.array_equal(seen.pop(), A)
    for number, (i, text, values, part) in enumerate(seen):
        rows = A[2 * number : 2 * number + 2]
        assert (i, text) == (number, f"float32 x[2, 3]\n{rows}")
        assert np.array_equal(values, rows) and np.array_equal(part, rows[:, 1:3] * 2)


def seen_blocks(place):
    """What a kernel sees of a tensor with blocks at a place: all of it, and its first block."""
    seen = []

    @old.jit
    def kernel(a):
        out = old_nl.ndarray((2, 3, 3), dtype=F32, buffer=old_nl.shared_hbm)
        blocks = old_nl.ndarray((2, old_nl.par_dim(3), 3), dtype=F32, buffer=place)
        for i in old_nl.sequential_range(2):
            blocks[i] = old_nl.load(a[old_nl.ds(i * 3, 3)])
            old_nl.store(out[i], blocks[i])
        seen.extend([blocks.numpy(), blocks[0].numpy()])
        return out

    with eagerly():
        kernel(A)
    return seen


def test_tensors_with_blocks_show_the_values_of_all_of_them():
    whole, first = seen_blocks(old_nl.sbuf)
    assert np.array_equal(whole, A.reshape(2, 3, 3)) and np.array_equal(first, A[:3])


@pytest.mark.parametrize("tiles", [1, 2])
def test_tiles_that_share_bytes_show_those_of_the_one_written_last(tiles):
    _, first = seen_blocks(ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(tiles,)))
    assert np.array_equal(first, A[:3] if tiles == 2 else A[3:])


def test_the_debugger_shows_values(monkeypatch):
    @old.jit
    def kernel(a):
        x = old_nl.load(a)
        breakpoint()
        y = x + 1
        return in_hbm(old_nl, y)

    typed, shown = io.StringIO("p x\nnext\nnext\np y.numpy().sum()\ncontinue\n"), io.StringIO()

    def stop():
        pdb.Pdb(stdin=typed, stdout=shown, nosigint=True).set_trace(sys._getframe(1))

    monkeypatch.setattr("builtins.breakpoint", stop)
    with eagerly():
        assert np.array_equal(kernel(A), A + 1)
    assert f"float32 x[6, 3]\n{A}" in shown.getvalue()
    assert str((A + 1).sum()) in shown.getvalue()


def test_device_print_prints_at_once(capsys):
    @old.jit
    def kernel(a):
        out = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
        for i in old_nl.affine_range(2):
            x = old_nl.load(a[old_nl.ds(i * 3, 3)])
            print("before", i)
            old_nl.device_print("x", x)
            old_nl.device_print("first", x, mask=old_nl.arange(3)[None, :] < 1)
            old_nl.store(out[old_nl.ds(i * 3, 3)], x)
        return out

    with eagerly():
        kernel(A)
    first = np.array([[1, 0, 0]], F32)
    halves = [(i, A[3 * i : 3 * i + 3]) for i in range(2)]
    expected = "".join(f"before {i}\nx {x}\nfirst {x * first}\n" for i, x in halves)
    assert capsys.readouterr().out == expected


def test_an_error_of_a_run_comes_from_its_line_and_changes_no_input():
    @old.jit
    def kernel(a: old.typing.mutable_tensor, rows):
        index = old_nl.load(rows)
        old_nl.store(a, old_nl.load(a) * 2)
        x = old_nl.load(a[index[old_nl.arange(6)[:, None], 0], old_nl.arange(3)[None, :]])
        old_nl.store(a, x)
        return a

    given = A.copy()
    with eagerly(), pytest.raises(IndexError, match="index 6 of partition 2") as caught:
        kernel(given, np.array([[5], [0], [6], [3], [1], [2]], np.int32))
    assert f"line {kernel.func.__code__.co_firstlineno + 4}," in caught.value.__notes__[0]
    assert np.array_equal(given, A)


def test_values_are_refused_where_a_kernel_is_only_traced():
    @nki.jit
    def kernel(a):
        return nl.load(a).numpy()

    assert error_of(kernel.traced, A).endswith(
        "has no values while its kernel is traced: `neuron-sim run --eager` runs instructions as "
        "they are traced."
    )


def test_what_cannot_run_eagerly_is_refused_in_one_sentence(monkeypatch):
    @nki.jit
    def kernel(a, counts=None):
        if counts is not None:
            register = nisa.register_alloc(2)
            for _ in nl.dynamic_range(0, register):
                pass
        return in_hbm(nl, nl.load(a))

    remedy = "which eager execution lacks: run it without eager execution."
    with eagerly():
        assert error_of(kernel, A, 1) == f"kernel 'kernel' uses registers, {remedy}"
        assert error_of(kernel[2], A) == f"kernel 'kernel' runs on 2 cores, {remedy}"
        ranked = nki.simulate(kernel, ranks=2)
        assert error_of(ranked, A) == f"kernel 'kernel' runs on several ranks, {remedy}"
        monkeypatch.setenv(settings.ADVICE, "1")
        assert error_of(kernel, A) == f"kernel 'kernel' runs with {settings.ADVICE} set, {remedy}"
        monkeypatch.delenv(settings.ADVICE)
        assert np.array_equal(kernel(A), A)


def test_the_setting_is_that_of_the_command_line(monkeypatch):
    seen = []

    @nki.jit
    def kernel(a):
        x = nl.load(a)
        seen.append("[" in repr(x).partition("\n")[2])
        return in_hbm(nl, x)

    for value in ("1", "0"):
        monkeypatch.setenv(settings.EAGER, value)
        kernel(A)
    with eagerly():
        kernel(A)
    assert seen == [True, False, True]
