"""Debugging of kernels: printed values, the debugger, uninitialised reads, places of errors."""

import io
import pdb
import sys
import warnings

import ml_dtypes
import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.compiler as ncc
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import neuron_sim.nki as new
import neuron_sim.nki.isa as new_isa
import neuron_sim.nki.language as new_nl
import numpy as np
import pytest
from neuron_sim import SanitizeError
from nki_errors import error_of

F32 = np.float32
A = np.arange(18, dtype=F32).reshape(6, 3)


def output(a):
    return nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)


@old.jit
def printing(a):
    out = output(a)
    for i in nl.affine_range(3):
        rows = nl.ds(i * 2, 2)
        x = nl.load(a[rows])
        nl.device_print("tile:", x)
        nl.store(out[rows], x + 1)
    return out


def printed(*arrays):
    return "".join(f"tile: {array}\n" for array in arrays)


def test_a_tile_is_printed_in_every_iteration(capsys):
    assert np.array_equal(printing(A), A + 1)
    assert capsys.readouterr().out == printed(A[0:2], A[2:4], A[4:6])


def test_a_tile_of_low_precision_is_printed_in_its_dtype(capsys):
    a = A.astype(ml_dtypes.bfloat16)
    printing(a)
    assert capsys.readouterr().out == printed(a[0:2], a[2:4], a[4:6])


def test_simulate_kernel_prints(capsys):
    old.simulate_kernel(printing, A)
    assert capsys.readouterr().out == printed(A[0:2], A[2:4], A[4:6])


def test_what_is_printed_takes_no_simulated_time():
    @old.jit
    def silent(a):
        out = output(a)
        for i in nl.affine_range(3):
            rows = nl.ds(i * 2, 2)
            x = nl.load(a[rows])
            nl.store(out[rows], x + 1)
        return out

    assert printing.traced(A).time() == silent.traced(A).time()


def test_a_mask_leaves_a_part_to_print(capsys):
    @old.jit
    def kernel(a):
        x = nl.load(a)
        columns = nl.arange(3)[None, :]
        nl.device_print("part", x, mask=columns < 2)
        nl.device_print("nothing", x, mask=columns < 0)
        nl.store(out := output(a), x)
        return out

    kernel(A)
    expected = A.copy()
    expected[:, 2] = 0
    assert capsys.readouterr().out == f"part {expected}\n"


def test_the_new_language_prints_tiles_and_tensors_in_hbm(capsys):
    @new.jit
    def kernel(a):
        out = new_nl.ndarray(a.shape, a.dtype, buffer=new_nl.shared_hbm)
        x = new_nl.load(a)
        new_nl.device_print("x", x)
        new_nl.store(out, x)
        new_nl.device_print("out", out)
        return out

    kernel(A)
    assert capsys.readouterr().out == f"x {A}\nout {A}\n"


def test_only_tensors_are_printed_after_a_string():
    @old.jit
    def kernel(a, prefix, value):
        nl.device_print(prefix, a if value is None else value)

    assert error_of(kernel.traced, A, "x", 3, kind=TypeError) == (
        "operand 'x' of 'device_print' is a int, not a tensor."
    )
    assert error_of(kernel.traced, A, 3, None, kind=TypeError) == (
        "prefix 3 of 'device_print' must be a string."
    )


def test_the_debugger_stops_in_a_kernel_and_changes_nothing(monkeypatch):
    @old.jit
    def kernel(a, stops):
        out = output(a)
        x = nl.load(a)
        if stops:
            breakpoint()
        x[...] = nl.exp(x)
        nl.store(out, x)
        return out

    typed = io.StringIO("p x\np x.shape, x.dtype\nnext\nnext\np x.buffer\ncontinue\n")
    shown = io.StringIO()

    def stop():
        pdb.Pdb(stdin=typed, stdout=shown, nosigint=True).set_trace(sys._getframe(1))

    monkeypatch.setattr("builtins.breakpoint", stop)
    traced = kernel.traced(A, True)
    assert traced.source.listing() == kernel.traced(A, False).source.listing()
    text = shown.getvalue()
    assert "float32 x[6, 3]" in text and "((6, 3), float32)" in text and "sbuf" in text


@old.jit
def partly_loaded(a, columns):
    x = nl.ndarray((6, 4), dtype=F32)
    x[:, 0:3] = nl.load(a)
    y = nl.exp(x[:, 0:columns])
    nl.store(out := output(a), y[:, columns - 3 : columns])
    return out


def test_sanitize_names_the_tile_and_the_line_of_an_uninitialised_read(monkeypatch):
    partly_loaded.traced(A, 4)
    monkeypatch.setenv("NEURON_SIM_SANITIZE", "1")
    partly_loaded.traced(A, 3)
    with pytest.raises(SanitizeError) as caught:
        partly_loaded.traced(A, 4)
    (finding,) = caught.value.findings
    assert finding.rule == "uninitialised-read" and "nothing wrote" in finding.message
    lines = (finding.source_line + finding.other_line).split(__file__)[1:]
    first = partly_loaded.func.__code__.co_firstlineno
    assert f":{first + 4}" in lines  # where x is read: y holds what nothing defined


def added(a, b, base_of_b, tiles, blocks=4):
    """Sums of blocks; the tiles of a at byte 0, those of b at `base_of_b`, `tiles` of each."""
    out = nl.ndarray((blocks, 128, 8), dtype=F32, buffer=nl.shared_hbm)

    def placed(name, base):
        buffer = ncc.sbuf.mod_alloc(base_addr=base, num_free_tiles=(tiles,))
        return nl.ndarray((blocks, nl.par_dim(128), 8), dtype=F32, buffer=buffer, name=name)

    x, y, z = placed("x", 0), placed("y", base_of_b), placed("z", 8192)
    for i in nl.affine_range(blocks):
        x[i] = nl.load(a[i])
        y[i] = nl.load(b[i])
        z[i] = nisa.tensor_tensor(x[i], y[i], op=nl.add)
        nl.store(out[i], z[i])
    return out


BLOCKS = np.arange(4 * 128 * 8, dtype=F32).reshape(4, 128, 8)


@pytest.mark.parametrize("tiles", [1, 2])
def test_sanitize_names_tiles_that_share_bytes_and_their_lines(monkeypatch, tiles):
    kernel = old.jit(added)
    assert np.array_equal(kernel(BLOCKS, -BLOCKS, 0, tiles), -2 * BLOCKS)  # b + b
    monkeypatch.setenv("NEURON_SIM_SANITIZE", "1")
    with pytest.raises(SanitizeError) as caught:
        kernel.traced(BLOCKS, -BLOCKS, 0, tiles)
    file, first = __file__, added.__code__.co_firstlineno
    assert str(caught.value) == (
        "'tensor_tensor' of kernel 'added' reads operand 'data1' (tile 'x[0]') after 'dma_copy' "
        "overwrote bytes of it through tile 'y[0]', which shares them."
    )
    assert [each.other_line for each in caught.value.findings] == [f"{file}:{first + 11}"]
    assert "z[i] = nisa.tensor_tensor(x[i], y[i], op=nl.add)" in caught.value.__notes__[0]
    assert np.array_equal(kernel(BLOCKS, -BLOCKS, 4096, tiles), 0 * BLOCKS)


def test_sanitize_tells_the_logical_tiles_of_one_physical_tile_apart(monkeypatch):
    def shifted(a, tiles):
        out = nl.ndarray((4, 128, 8), dtype=F32, buffer=nl.shared_hbm)
        buffer = ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(tiles,))
        x = nl.ndarray((5, nl.par_dim(128), 8), dtype=F32, buffer=buffer)
        x[0] = nl.load(a[3])
        for i in nl.sequential_range(4):
            x[i + 1] = nl.load(a[i])
            nl.store(out[i], x[i])
        return out

    kernel = old.jit(shifted)
    time = kernel.traced(BLOCKS, 2).time()["latency_us"]
    monkeypatch.setenv("NEURON_SIM_SANITIZE", "1")
    assert np.array_equal(kernel(BLOCKS, 2), BLOCKS[[3, 0, 1, 2]])
    assert kernel.traced(BLOCKS, 2).time()["latency_us"] == time
    with pytest.raises(ValueError, match=r"\(tile 'x\[0\]'\) after .* through tile 'x\[1\]'"):
        kernel.traced(BLOCKS, 1)


def test_sanitize_sees_tiles_at_addresses_of_the_new_language(monkeypatch):
    @new.jit
    def kernel(a, byte):
        out = new_nl.ndarray((6, 3), dtype=F32, buffer=new_nl.shared_hbm)
        x = new_nl.ndarray((6, 3), dtype=F32, buffer=new_nl.sbuf, address=(0, 0))
        y = new_nl.ndarray((6, 3), dtype=F32, buffer=new_nl.sbuf, address=(0, byte))
        new_isa.dma_copy(dst=x, src=a)
        new_isa.memset(dst=y, value=0)
        new_isa.dma_copy(dst=out, src=x)
        return out

    monkeypatch.setenv("NEURON_SIM_SANITIZE", "1")
    assert np.array_equal(kernel(A, 12), A)
    with pytest.raises(ValueError, match=r"\(tile 'x'\) after 'memset' .* through tile 'y'"):
        kernel(A, 8)


def test_an_error_of_a_result_that_is_written_later_points_at_its_call():
    @old.jit
    def kernel(a):
        x = nl.load(a)
        y = nisa.tensor_tensor(x, nl.zeros((4, 3), dtype=F32), op=nl.add)
        z = nl.exp(x)
        return z, y

    with pytest.raises(ValueError) as caught:
        kernel.traced(A)
    assert "\n" not in str(caught.value)
    call = "nisa.tensor_tensor(x, nl.zeros((4, 3), dtype=F32), op=nl.add)"
    assert caught.value.__notes__[0].splitlines()[1:] == [
        f"    y = {call}", "        " + "^" * len(call)
    ]  # fmt: skip


def test_the_caret_counts_characters_of_the_line():
    @old.jit
    def kernel(a):
        return ("für µs", nl.exp(a))

    with pytest.raises(ValueError) as caught:
        kernel.traced(A)
    assert caught.value.__notes__[0].splitlines()[1:] == [
        '    return ("für µs", nl.exp(a))', "                      ^^^^^^^^^"
    ]  # fmt: skip


def test_instructions_have_the_line_of_their_call():
    @old.jit
    def kernel(a):
        out = output(a)
        x = nl.exp(
            nl.load(a)  # of a line of its own
        )
        y = x + 1
        nl.store(out, y)
        return out

    first = kernel.func.__code__.co_firstlineno
    timeline = kernel.traced(A).source.perfetto()
    for offset in (3, 4, 6, 7):
        assert f"test_debugging.py:{first + offset}".encode() in timeline


def test_tensors_that_do_not_fit_are_named_with_the_kernels_lines():
    @old.jit
    def kernel(a, columns):
        out = output(a)
        first = nl.ndarray((6, columns), dtype=F32)
        second = nl.ndarray((6, 20000), dtype=F32)
        first[...] = 0
        second[...] = 0
        nl.store(out, first[:, 0:3] + second[:, 0:3])
        return out

    kernel.traced(A, 20000)
    with pytest.raises(MemoryError) as caught:
        kernel.traced(A, 40000)
    sentence, header, *rows = str(caught.value).splitlines()
    line = kernel.func.__code__.co_firstlineno
    assert sentence.endswith("has 212984.") and header.split()[0] == "tile"
    assert [row.split() for row in (rows[0], rows[1], rows[-1])] == [
        ["first", "[6,", "40000]", "float32", "160000", "1", "160000", f"{line + 5}-{line + 7}",
         f"{__file__}:{line + 3}"],
        ["second", "[6,", "20000]", "float32", "80000", "1", "80000", f"{line + 6}-{line + 7}",
         f"{__file__}:{line + 4}"],
        ["sum:", "240064", "of", "212984", "bytes", "per", "partition"],
    ]  # fmt: skip
    assert f", line {line + 7}\n" in caught.value.__notes__[0]


def test_equal_tiles_that_do_not_fit_share_a_row():
    @new.jit
    def kernel(a):
        out = new_nl.ndarray(a.shape, a.dtype, buffer=new_nl.shared_hbm)
        x, y, z = [new_nl.ndarray((6, 20000), F32, buffer=new_nl.sbuf) for _ in range(3)]
        new_isa.memset(dst=x, value=0)
        new_isa.memset(dst=y, value=0)
        new_isa.tensor_tensor(dst=z, data1=x, data2=y, op=new_nl.add)
        new_isa.dma_copy(dst=out, src=z[:, 0:3])
        return out

    with pytest.raises(MemoryError) as caught:
        kernel.traced(A)
    rows = [row.split() for row in str(caught.value).splitlines()[2:]]
    assert rows[0][3:7] == ["float32", "80000", "3", "240000"] and rows[1][0] == "sum:"


def test_a_new_tensor_that_takes_the_name_of_one_from_outside_the_loop_is_warned_of():
    @old.jit
    def kernel(a, updates):
        data = nl.load(a)
        for _ in nl.sequential_range(4):
            if updates:
                data[...] = data + 1
            else:
                data = data + 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel.traced(A, True)
    with pytest.warns(UserWarning) as caught:
        kernel.traced(A, False)
    assert str(caught[0].message) == (
        "shadowing local tensor 'float32 data[6, 3]' with a new object, use 'data[...] =' if you "
        "want to update the existing object"
    )
    assert caught[0].filename == __file__
