"""`neuron-sim bits`: published results of a chip come out to the bit."""

import hashlib
import io
import json

import numpy as np
import pytest
from neuron_sim import command_line
from neuron_sim.fidelity import bits


def answer(capsys, *arguments):
    code = command_line.main(["bits", "--json", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, json.loads(captured.out) if code in (0, 1) and captured.out else captured.err


def write(path, **changes):
    case = {
        "id": "one",
        "instruction": "tensor_reduce",
        "op": "add",
        "dtype": "float32",
        "shape": [2, 3],
        "data": np.array([[1, 2, 3], [2**24, 1, 1]], ">f4").tobytes().hex(),
        "result": np.array([6, 2**24], ">f4").tobytes().hex(),
    }
    path.write_text(json.dumps({"schema": bits.SCHEMA, "cases": [{**case, **changes}]}))
    return path


def test_every_published_result_is_equal_in_every_bit(capsys):
    code, result = answer(capsys)
    assert (code, result["equal"], result["first_unequal"]) == (0, result["results"], None)
    assert result["results"] == 45 * 64
    assert {row["known"] for row in result["operations"]} == {"proven", "documented", "assumed"}


def test_what_is_known_is_printed_in_lines_of_at_most_100_columns(capsys):
    assert command_line.main(["bits"]) == 0
    printed = capsys.readouterr().out
    assert 80 < max(map(len, printed.splitlines())) <= 100
    words = " ".join(printed.split())
    for row in bits.known_operations():
        assert f"{row['known']}: {row['operation']} ({row['engine']})" in words
        assert f"{row['bits']} source: {row['source']}" in words


def test_the_results_are_those_of_the_archives_that_were_published():
    """NumPy writes equal arrays as equal archives, so equal hashes mean equal bits."""
    cases = json.loads(bits.PUBLISHED.read_text(encoding="utf-8"))["cases"]
    for published, case in zip(cases, bits.read_cases(bits.PUBLISHED), strict=True):
        archive = io.BytesIO()
        np.savez_compressed(archive, actual=case.result[:, None], forces=case.data)
        assert hashlib.sha256(archive.getvalue()).hexdigest() == published["archive_sha256"]


def test_another_order_of_addition_would_not_pass(capsys, tmp_path):
    """In order, 2^24 + 1 + 1 is 2^24; with the last two first it is 2^24 + 2."""
    assert answer(capsys, "--data", write(tmp_path / "in_order.json"))[0] == 0
    other = np.array([6, 2**24 + 2], ">f4").tobytes().hex()
    code, result = answer(capsys, "--data", write(tmp_path / "other.json", result=other))
    first = {"case": "one", "row": 1, "expected": "4b800001", "got": "4b800000"}
    assert (code, result["equal"], result["first_unequal"]) == (1, 1, first)
    assert command_line.main(["bits", "--data", str(tmp_path / "other.json")]) == 1
    assert capsys.readouterr().out == (
        "1 of 2 published results are equal in every bit.\n"
        "The first other one is row 1 of one: expected 4b800001, got 4b800000.\n"
    )


@pytest.mark.parametrize(("op", "oracle"), [
    ("maximum", np.maximum), ("minimum", np.minimum), ("multiply", np.multiply),
    ("subtract", np.subtract),
])  # fmt: skip
def test_archives_and_other_operators_are_compared_too(capsys, tmp_path, op, oracle):
    data = np.random.default_rng(1).normal(size=(300, 9)).astype(np.float32)
    result = oracle.accumulate(data, axis=1)[:, -1]
    shape, words = data.shape, {"data": data, "result": result}
    fields = {key: each.astype(">f4").tobytes().hex() for key, each in words.items()}
    path = write(tmp_path / "operators.json", op=op, shape=shape, **fields)
    sums = np.add.accumulate(data, axis=1)[:, -1:]
    np.savez_compressed(tmp_path / "sums.npz", actual=sums, forces=data)
    code, compared = answer(capsys, "--data", path, tmp_path / "sums.npz")
    assert (code, compared["cases"], compared["equal"]) == (0, 2, 600)


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"op": "divide"}, "has op 'divide', not add or subtract or multiply or maximum or minimum."),
    ({"instruction": "iota"}, "has instruction 'iota', not tensor_reduce."),
    ({"dtype": "int64"}, "has dtype 'int64', not float32 or float16."),
    ({"data": "xyz"}, "has no data and result in hexadecimal digits for shape [2, 3]:"),
    ({"shape": [3, 3]}, "has no data and result in hexadecimal digits for shape [3, 3]:"),
    ({"shape": [6]}, "has data of shape [6] and 2 results; data must have rows"),
    ({"result": "00000000"}, "has data of shape [2, 3] and 1 results; data must have rows"),
])  # fmt: skip
def test_wrong_cases_are_refused_in_a_sentence(capsys, tmp_path, changes, sentence):
    code, error = answer(capsys, "--data", write(tmp_path / "wrong.json", **changes))
    assert code == 2
    assert sentence in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("text", ["{", "[]", "{}", json.dumps({"schema": bits.SCHEMA})])
def test_files_without_cases_are_refused_in_a_sentence(capsys, tmp_path, text):
    for name in ("wrong.json", "wrong.npz"):
        (tmp_path / name).write_text(text)
        code, error = answer(capsys, "--data", tmp_path / name)
        assert code == 2
        assert name in error
        assert error.count("\n") == 1
