"""The sanitizer for NKI kernels: blocks, the environment, what a finding says."""

import inspect
from pathlib import Path

import neuron_sim
import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as new
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from device_type import DEVICE_TYPE
from isa_harness import in_hbm
from neuron_sim import SanitizeError, _core, sanitize
from neuron_sim.sanitizer import checking

A = np.arange(1, 19, dtype=np.float32).reshape(6, 3)
DOCS = Path(__file__).resolve().parents[3] / "docs" / "nki.md"


@old.jit
def partly_loaded(a, rows, columns):
    x = old_nl.ndarray((6, 4), dtype=np.float32)
    x[0:rows, 0:columns] = old_nl.load(a[0:rows, 0:columns])
    if columns == 3:
        x[:, 3:4] = old_nl.load(a[:, 0:1])
    y = old_nl.sum(x, axis=1, keepdims=True)  # here
    return in_hbm(old_nl, y + old_nl.zeros((6, 4), dtype=np.float32))


@new.jit
def two_defects(a, first, second):
    out = nl.ndarray((6, 1), dtype=a.dtype, buffer=nl.shared_hbm)
    x, y = (nl.ndarray((6, 4), dtype=nl.float32, buffer=nl.sbuf) for _ in range(2))
    sums = [nl.ndarray((6, 1), dtype=nl.float32, buffer=nl.sbuf) for _ in range(2)]
    nisa.memset(dst=x[:, 0 : 3 if first else 4], value=1.0)
    nisa.memset(dst=y[0 : 5 if second else 6], value=1.0)
    nisa.tensor_reduce(dst=sums[0], op=nl.add, data=x, axis=1)  # first
    nisa.tensor_reduce(dst=sums[1], op=nl.add, data=y, axis=1)  # second
    nisa.tensor_tensor(dst=sums[0], data1=sums[0], data2=sums[1], op=nl.add)
    nisa.dma_copy(dst=out, src=sums[0])
    return out


def line(kernel, mark):
    lines, first = inspect.getsourcelines(kernel.func)
    return first + next(i for i, text in enumerate(lines) if f"# {mark}" in text)


def test_a_block_raises_an_error_with_line_tile_bytes_and_remedy():
    with sanitize(), pytest.raises(SanitizeError) as caught:
        two_defects(A, True, False)
    error = caught.value
    assert isinstance(error, ValueError) and len(error.findings) == 1
    (finding,) = error.findings
    assert str(error) == finding.message
    assert finding.rule == "uninitialised-read" and finding.kernel == "two_defects"
    assert finding.instruction == "tensor_reduce" and finding.operand == "data"
    assert finding.bytes == (12, 16) and finding.partitions == (0, 6)
    assert finding.source_line == f"{__file__}:{line(two_defects, 'first')}"
    place, details = error.__notes__
    head, text, caret = place.splitlines()
    assert head == f'  File "{__file__}", line {line(two_defects, "first")}'
    assert len(caret.strip()) == len(text.strip()) and set(caret.strip()) == {"^"}
    assert "bytes [12, 16), partitions [0, 6)" in details and "remedy: " in details


def test_an_error_has_all_findings_of_its_kernel():
    with sanitize(), pytest.raises(SanitizeError) as caught:
        two_defects(A, True, True)
    lines = [each.source_line.rpartition(":")[2] for each in caught.value.findings]
    assert lines == [str(line(two_defects, "first")), str(line(two_defects, "second"))]
    assert f"line {lines[1]}" in "\n".join(caught.value.__notes__)


def test_a_collecting_block_goes_on_and_lists_each_finding_once():
    with sanitize(raise_error=False) as findings:
        two_defects(A, True, False)
        two_defects(A, True, False)
        assert len(findings) == 1
        two_defects(A, False, True)
    assert [each.partitions for each in findings] == [(0, 6), (5, 6)]
    assert "remedy" in str(findings[0]) and "^^^" in str(findings[0])


def test_a_program_of_an_earlier_call_is_checked_again():
    two_defects(A, True, True)  # without a block: not checked
    for _ in range(2):
        with sanitize(raise_error=False) as findings:
            two_defects(A, True, True)
        assert len(findings) == 2
        with sanitize(raise_error=False) as findings:
            two_defects.traced(A, True, True)
        assert len(findings) == 2
    two_defects(A, True, True)


def test_blocks_nest_and_the_innermost_one_gets_the_findings():
    with sanitize(raise_error=False) as outer:
        with sanitize(raise_error=False) as inner:
            two_defects(A, True, False)
        with sanitize(), pytest.raises(SanitizeError):
            two_defects(A, False, True)
        assert not outer
        two_defects(A, False, True)
    assert len(inner) == len(outer) == 1


def test_after_a_block_that_an_error_left_nothing_is_checked():
    with pytest.raises(ZeroDivisionError), sanitize():
        raise ZeroDivisionError
    two_defects(A, True, True)


def test_the_environment_asks_for_the_same(monkeypatch):
    two_defects(A, True, False)
    monkeypatch.setenv("NEURON_SIM_SANITIZE", "1")
    for _ in range(2):
        with pytest.raises(SanitizeError):
            two_defects(A, True, False)
    with sanitize(raise_error=False) as findings:
        two_defects(A, True, False)
    assert len(findings) == 1
    monkeypatch.setenv("NEURON_SIM_SANITIZE", "0")
    two_defects(A, True, False)


@pytest.mark.parametrize(
    ("rows", "columns", "bytes", "partitions"),
    [(6, 3, None, None), (6, 2, (8, 16), (0, 6)), (6, 1, (4, 16), (0, 6)), (5, 3, (0, 12), (5, 6))],
)
def test_uninitialised_reads_are_exact_to_the_byte_and_partition(rows, columns, bytes, partitions):
    with sanitize(raise_error=False) as findings:
        partly_loaded(A, rows, columns)
    places = [(each.bytes, each.partitions) for each in findings]
    assert places == ([] if bytes is None else [(bytes, partitions)])


def test_bytes_and_times_are_those_without_the_sanitizer():
    result, time = two_defects(A, False, False), two_defects.traced(A, False, False).time()
    with sanitize():
        assert np.array_equal(two_defects(A, False, False), result)
        assert two_defects.traced(A, False, False).time() == time


def test_masked_loads_sums_and_stores_have_no_finding():
    @old.jit
    def kernel(a, b):
        out = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
        p, f = old_nl.arange(128)[:, None], old_nl.arange(64)[None, :]
        for i in old_nl.affine_range(8):
            mask = i * 128 + p < 1000
            x = old_nl.load(a[i * 128 + p, f], mask=mask)
            y = old_nl.load(b[i * 128 + p, f], mask=mask)
            old_nl.store(out[i * 128 + p, f], x + y, mask=mask)
        return out

    a = np.random.default_rng(0).random((1000, 64), np.float32)
    with sanitize():
        assert np.array_equal(kernel(a, a), a + a)


@old.jit
def shifted(a, parallel):
    x = old_nl.load(a)
    loop = old_nl.affine_range if parallel else old_nl.sequential_range
    for i in loop(2):
        x[:, i + 1] = old_nl.add(x[:, i], x[:, i + 1])  # here
    return in_hbm(old_nl, x)


@old.jit
def rows_of_instances(a, step):
    out = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
    row = old_nl.program_id(0) * step
    old_nl.store(out[row : row + 2], old_nl.load(a[row : row + 2]))  # here
    return out


def test_iterations_that_depend_on_each_other_are_refused_without_the_sanitizer():
    np.testing.assert_allclose(shifted(A, False), np.cumsum(A, axis=1))
    with pytest.raises(ValueError, match="affine_range|parallel|iteration") as caught:
        shifted(A, True)
    assert f"line {line(shifted, 'here')}" in caught.value.__notes__[0]


def test_instances_that_write_the_same_bytes_are_refused_without_the_sanitizer():
    assert np.array_equal(rows_of_instances[(3,)](A, 2), A)
    with pytest.raises(ValueError, match="instance") as caught:
        rows_of_instances[(3,)](A, 1)
    assert f"line {line(rows_of_instances, 'here')}" in caught.value.__notes__[0]


def test_instances_that_do_not_ask_for_their_place_write_the_same_values():
    @old.jit
    def kernel(a):
        return in_hbm(old_nl, old_nl.load(a) * old_nl.num_programs(0))

    assert np.array_equal(kernel[(3,)](A), A * 3)


def test_what_was_launched_before_a_block_is_no_finding_of_it(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("NEURON_SIM_SANITIZE", "1")
    with pytest.raises(SanitizeError):
        two_defects(A, True, False)
    monkeypatch.delenv("NEURON_SIM_SANITIZE")
    two_defects(torch.from_numpy(A).to(f"{DEVICE_TYPE}:1"), True, True)
    with sanitize(raise_error=False) as findings:
        two_defects(A, False, False)
    assert not findings


def test_a_kernel_on_tensors_of_the_device_is_checked():
    torch = pytest.importorskip("torch")
    a = torch.from_numpy(A).to(f"{DEVICE_TYPE}:1")
    with sanitize(raise_error=False) as findings:
        two_defects(a, True, True)
    assert len(findings) == 2
    with sanitize(), pytest.raises(SanitizeError):
        two_defects(a, True, False)


def test_the_first_nan_is_a_note_where_it_is_asked_for():
    @new.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        x = nl.load(a)
        nisa.activation(dst=x, op=nl.log, data=x)  # here
        nisa.activation(dst=x, op=nl.exp, data=x)
        nisa.dma_copy(dst=out, src=x)
        return out

    with sanitize(first_non_finite=True) as findings:  # raises nothing
        kernel(A - 5)
    assert [each.rule for each in findings] == ["first-non-finite"]
    assert findings[0].severity == "note"
    assert findings[0].source_line == f"{__file__}:{line(kernel, 'here')}"
    with sanitize(first_non_finite=True) as findings:
        kernel(A)
    assert not findings
    with sanitize(raise_error=False) as findings:
        kernel(A - 5)
    assert not findings


def test_the_table_of_rules_in_the_docs_is_that_of_the_device():
    rows = [
        f"| `{each['rule']}` | {each['severity']} | {each['meaning']} | {each['remedy']} |"
        for each in checking.rules()
    ]
    text = DOCS.read_text(encoding="utf-8")
    first = text.index("| rule | severity |")
    table = text[first : text.index("\n\n", first)].splitlines()[2:]
    assert table == rows, "the rows should be:\n" + "\n".join(rows)


def test_the_objects_are_those_of_torch_neuron_sim():
    torch = pytest.importorskip("torch")
    assert torch.neuron_sim.sanitize is neuron_sim.sanitize is sanitize
    assert torch.neuron_sim.Finding is neuron_sim.Finding
    assert _core.check_rules()
