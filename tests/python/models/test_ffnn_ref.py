"""models/cpp/ffnn_ref: the course's data files, random numbers and benchmark."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(os.environ.get("NEURON_SIM_MODELS_DIR", ROOT / "build/release/models")) / "ffnn_ref"
pytestmark = pytest.mark.skipif(not PROGRAM.is_file(), reason=f"{PROGRAM} is not built")

SIZES = (37, 130, 129, 20)
OPTION = ["--sizes", ",".join(map(str, SIZES))]
FILES = ["X.bin", "W1.bin", "b1.bin", "W2.bin", "b2.bin", "Y.bin"]


def run(*arguments, folder=None):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, cwd=folder)


def course_data(seed):
    """The course's generate_data, in NumPy."""
    batch, inputs, hidden, outputs = SIZES
    np.random.seed(seed)  # the course uses the old generator
    x = np.random.rand(batch, inputs).astype(np.float32)
    shapes = [(inputs, hidden), (1, hidden), (hidden, outputs), (1, outputs)]
    return [x, *((np.random.randn(*s) * 0.01).astype(np.float32) for s in shapes)]


def predicted(x, weight1, bias1, weight2, bias2):
    """Classes in float64, and how far the best one is ahead of the next."""
    x, weight1, weight2 = (value.astype(np.float64) for value in (x, weight1, weight2))
    logits = np.maximum(x @ weight1 + bias1, 0) @ weight2 + bias2
    ordered = np.sort(logits, axis=1)
    return logits.argmax(1), (ordered[:, -1] - ordered[:, -2]).min()


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "new" / "ffnn"
    result = run(*OPTION, "--store-data", str(folder))
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


def test_the_files_hold_the_courses_data_and_the_predicted_classes(stored):
    folder, output = stored
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    data = course_data(152)
    for name, expected in zip(FILES, data, strict=False):
        actual = np.fromfile(folder / name, dtype=np.float32)
        assert np.array_equal(actual, expected.ravel()), name
    classes, margin = predicted(*data)
    assert margin > 1e-6  # no row is a matter of rounding
    assert np.array_equal(np.fromfile(folder / "Y.bin", dtype=np.int32), classes)
    first, last = (" ".join(map(str, part)) for part in (classes[:3], classes[-3:]))
    assert f"Predicted class indices:\n[{first} ... {last}]\n" in output


def test_another_seed_gives_other_data_and_ffnn_is_the_default_folder(tmp_path):
    result = run(*OPTION, "--seed", "7", "--store-data", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    for name, expected in zip(FILES, course_data(7), strict=False):
        actual = np.fromfile(tmp_path / "ffnn" / name, dtype=np.float32)
        assert np.array_equal(actual, expected.ravel()), name


def test_the_benchmark_tells_simulated_times_and_agrees_with_the_golden_model(stored):
    result = run(*OPTION, "--load-data", str(stored[0]), "--benchmark")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("Predictions match the golden model.") == 5
    times = re.findall(r"^Simulated time for (.*): (\S+) ms$", result.stdout, re.MULTILINE)
    assert [name.split()[-1] for name, _ in times] == [
        "ffnn", "tiled", "hoist_load", "block_free_dimension", "fully_optimized"
    ]  # fmt: skip
    fused, *separate = (float(time) for _, time in times)
    assert 0 < fused < min(separate)  # one launch instead of six
    again = run(*OPTION, "--load-data", str(stored[0]), "--benchmark")
    assert again.stdout == result.stdout


def test_the_benchmark_names_every_class_that_differs(stored, tmp_path):
    for name in FILES:
        (tmp_path / name).write_bytes((stored[0] / name).read_bytes())
    golden = np.fromfile(tmp_path / "Y.bin", dtype=np.int32)
    right = golden[5]
    golden[5] = 19 - right
    golden.tofile(tmp_path / "Y.bin")
    result = run(*OPTION, "--load-data", str(tmp_path), "--benchmark")
    assert result.returncode == 1
    line = f"Index 5: Golden value = {19 - right}, Prediction = {right}\n"
    assert f"Predictions do not match the golden model.\n{line}" in result.stdout
    assert result.stdout.count("Index ") == 5  # all five benchmarks


@pytest.mark.parametrize("name", FILES)
def test_missing_short_and_long_files_are_named(stored, tmp_path, name):
    for other in FILES:
        (tmp_path / other).write_bytes((stored[0] / other).read_bytes())
    path = tmp_path / name
    contents = path.read_bytes()
    path.unlink()
    result = run(*OPTION, "--load-data", str(tmp_path))
    assert (result.returncode, result.stderr) == (
        2, f"ffnn_ref: {path}: No such file or directory.\n"
    )  # fmt: skip
    for wrong in (contents[:-1], contents + b"\0", b""):
        path.write_bytes(wrong)
        result = run(*OPTION, "--load-data", str(tmp_path))
        assert result.returncode == 2
        assert result.stderr.startswith(
            f"ffnn_ref: {path} has {len(wrong)} bytes, expected {len(contents)} for ["
        )
    path.write_bytes(contents)
    assert run(*OPTION, "--load-data", str(tmp_path)).returncode == 0


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--fast"], "'--fast' is unknown; the options are --seed, --sizes, --load-data, "
                     "--store-data and --benchmark."),
        (["--seed"], "--seed needs a value."),
        (["--seed", "-1"], "--seed: '-1' is not a whole number from 0 to 4294967295."),
        (["--seed", "4294967296"],
         "--seed: '4294967296' is not a whole number from 0 to 4294967295."),
        (["--sizes", "1,2,3"],
         "--sizes: '1,2,3' has 3 numbers, expected 4 (batch, input, hidden, output)."),
        (["--sizes", "1,2,x,4"], "--sizes: 'x' is not a whole number from 1 to 1048576."),
        (["--sizes", "1,0,3,4"], "--sizes: '0' is not a whole number from 1 to 1048576."),
    ],
)  # fmt: skip
def test_wrong_arguments_are_one_sentence(arguments, sentence):
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"ffnn_ref: {sentence}\n"


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    result = run(*OPTION, "--store-data", str(tmp_path / "file" / "ffnn"))
    assert result.returncode == 2
    assert str(tmp_path / "file" / "ffnn") in result.stderr
