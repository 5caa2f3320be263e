"""tools/advice: how advice is judged by public kernels, on kernels written here."""

import importlib
import json
import sys
from pathlib import Path

import pytest
from neuron_sim.fidelity.published.sources import Launch, PublishedKernel, Source

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "advice"))
judge = importlib.import_module("judge")

ADDITION = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def plus_one(a, columns=0):
    WIDTH = 2
    columns = columns or WIDTH
    tiles = a.reshape((a.shape[0] // (128 * columns), 128, columns))
    out = nl.ndarray(tiles.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(tiles.shape[0]):
        nl.store(out[i], nl.add(nl.load(tiles[i]), 1.0))
    return out
"""
ENTRY = {"name": "plus one", "like": "addition", "arch": "trn1"}
WIDTH = {"edits": {"WIDTH = 2": "WIDTH = 200"}}


@pytest.fixture
def checkouts(tmp_path, monkeypatch):
    source = Source("author/kernels", "0" * 40)
    folder = source.folder(tmp_path)
    folder.mkdir()
    (folder / "plus.py").write_text(ADDITION)
    launch = Launch("plus.py", "plus_one", ({"dtype": "float32", "shape": [25600]},))
    kernel = PublishedKernel("addition", source, (launch,))
    monkeypatch.setattr(judge, "known", lambda: {"addition": kernel})
    return tmp_path


def test_the_change_of_the_first_line_is_made_in_the_source_and_timed(checkouts):
    row = judge.judged(ENTRY, checkouts)
    assert row["first"] == "WIDTH of another size" and "named" not in row
    assert row["promised_us"] == row["changed_us"] < row["body_us"] / 2
    assert judge.off(row) == 0


def test_a_better_version_says_whether_the_first_line_names_it(checkouts):
    better = {"better": WIDTH, "names": ["WIDTH of another size"]}
    row = judge.judged(ENTRY | better, checkouts)
    assert row["named"] and judge.off(row) == 0
    other = judge.judged(ENTRY | better | {"names": ["Double buffers"]}, checkouts)
    assert not other["named"] and other["promised_us"] is None
    assert other["changed_us"] == row["changed_us"]
    assert "NOT NAMED" in judge.line(other) and judge.off(other) is None


def test_a_version_that_changes_more_is_told_beside_the_change_of_the_line_alone(checkouts):
    more = {"better": {"edits": {"WIDTH = 2": "WIDTH = 10"}}, "names": ["WIDTH of another size"]}
    row = judge.judged(ENTRY | more | {"change": WIDTH}, checkouts)
    assert row["promised_us"] == row["changed_us"] < row["better_us"] < row["body_us"]
    assert judge.off(row) == 0
    assert judge.off(judge.judged(ENTRY | more, checkouts)) > 0.1


def test_promises_count_as_time_saved():
    row = {"body_us": 10.0, "promised_us": 4.0, "changed_us": 5.0}
    assert judge.off(row) == pytest.approx(0.2)  # a fifth more than the 5 that are saved
    assert judge.off(row | {"changed_us": 4.0}) == 0
    assert judge.off(row | {"changed_us": 10.0}) == float("inf")
    assert judge.off(row | {"changed_us": None}) is None


def test_a_change_is_made_where_it_says():
    launch = {"flags": "-O1", "keywords": {"a": 1}, "edits": {}}
    size = {"write": "tile = 64 instead of 16, line 3 of a.py."}
    assert judge.made(size | {"text": "  tile = 16  # of 16"}, launch) == {
        "edits": {"  tile = 16  # of 16": "  tile = 64  # of 16"}
    }
    assert judge.made(size | {"text": ""}, launch) == {"keywords": {"a": 1, "tile": 64}}
    flag = {"write": "compile with --disable-dge (...)", "text": ""}
    assert judge.made(flag, launch) == {"flags": "-O1 --disable-dge"}
    engine = {"write": "name the engine of line 3 of a.py: engine=nki.isa.gpsimd_engine of ..."}
    assert judge.made(engine | {"text": "x = nisa.add(y, z)"}, launch) == {
        "edits": {"x = nisa.add(y, z)": "x = nisa.add(y, z, engine=nisa.gpsimd_engine)"}
    }
    assert judge.made(engine | {"text": "x = nisa.add(y,"}, launch) is None
    assert judge.made({"write": "load before the loop", "text": "x"}, launch) is None


def test_a_kernel_that_does_not_run_is_named(checkouts):
    with pytest.raises(RuntimeError, match=r"plus\.py: .*no attribute 'minus_one'"):
        judge.judged(ENTRY | {"now": {"function": "minus_one"}}, checkouts)


def test_every_kernel_of_the_list_is_known_and_judged():
    entries = judge.read(judge.KERNELS)
    assert {each["like"] for each in entries} <= judge.known().keys()
    rows = json.loads(judge.JUDGED.read_text())
    assert [row["kernel"] for row in rows] == [each["name"] for each in entries]
    pairs = [row["named"] for row in rows if "named" in row]
    assert len(pairs) >= 10 and 10 * sum(pairs) >= 7 * len(pairs)
    assert all(abs(each) <= 0.2 for row in rows if (each := judge.off(row)) is not None)


@pytest.mark.parametrize("key", ["better", "change"])
def test_a_list_with_other_keys_is_refused(tmp_path, key):
    path = tmp_path / "kernels.toml"
    path.write_text(f'[[kernel]]\nname = "a"\nlike = "b"\narch = "trn1"\n{key} = {{}}\n')
    with pytest.raises(ValueError, match="has other keys"):
        judge.read(path)
