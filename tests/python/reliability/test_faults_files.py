"""Files that are malformed or too large, and files that cannot be written."""

import contextlib
import functools
import hashlib
import io
import json
import os
import struct
import tempfile
import zipfile

import pytest
from faults import run_apart
from measured_kernels import product
from neuron_sim import files
from neuron_sim.command_line import main
from neuron_sim.fidelity.measurement import load_measurements
from neuron_sim.nki.measurement import program_file

DEEP = "[" * 100000


@functools.cache
def members():
    """The members of a whole program file."""
    content = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "whole.neff")
        program_file.save_program(product(), path)
        with open(path, "rb") as file:
            content.write(file.read())
    with zipfile.ZipFile(content) as file:
        return {name: file.read(name) for name in file.namelist()}


def manifest(**changes):
    return json.dumps({**json.loads(members()["manifest.json"]), **changes})


def archive(path, changes=None, method=zipfile.ZIP_DEFLATED, forged=False):
    """A program file, some of whose members are others, or missing (None); forged: with the digests
    of the members as they are."""
    whole = {**members(), **(changes or {})}
    if forged:
        digests = {
            name: hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()
            for name, text in whole.items()
            if name != "manifest.json"
        }
        whole["manifest.json"] = manifest(members=digests)
    with zipfile.ZipFile(path, "w", method) as file:
        for name, text in whole.items():
            if text is not None:
                file.writestr(name, text)
    return path


def command(*arguments):
    """Exit status and stderr of `neuron-sim ...`."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        status = main([str(each) for each in arguments])
    return status, errors.getvalue()


def view(path, output_format, folder):
    return command(
        *("profile", "view", "-n", path, "--output-format", output_format),
        *("--output-file", folder / "out"),
    )


@pytest.mark.parametrize("output_format", ("summary-text", "summary-json", "json", "db"))
def test_a_program_file_is_viewed(output_format, tmp_path):
    status, errors = view(archive(tmp_path / "a.neff"), output_format, tmp_path)
    assert (status, errors) == (0, "")


WRONG_TEXTS = (None, "", "{", "[]", '"x"', "null", "5", DEEP)
WRONG_FIELDS = [
    *({"format": None}, {"format": 5}, {"version": None}, {"version": []}, {"kernel": None}),
    *({"kernel": 5}, {"format": "x"}, {"version": 1}, {"program": None}, {"architecture": 2}),
    *({"members": None}, {"members": {}}, {"members": {"listing.txt": "0"}}),
]


@pytest.mark.parametrize("output_format", ("summary-text", "json"))
@pytest.mark.parametrize("text", WRONG_TEXTS, ids=range(len(WRONG_TEXTS)))
def test_a_changed_member_is_one_sentence(text, output_format, tmp_path):
    for name in members():
        check_refused(archive(tmp_path / "bad.neff", {name: text}), output_format, tmp_path)


@pytest.mark.parametrize("fields", WRONG_FIELDS, ids=str)
def test_a_malformed_manifest_is_one_sentence(fields, tmp_path):
    path = archive(tmp_path / "bad.neff", {"manifest.json": manifest(**fields)})
    check_refused(path, "summary-text", tmp_path)


def check_refused(path, output_format, folder):
    status, errors = view(path, output_format, folder)
    assert status == 2
    assert errors.count("\n") == 1 and "bad.neff" in errors
    assert not (folder / "out").exists()
    with pytest.raises(ValueError, match="bad.neff"):
        program_file.read(path, program_file.PROGRAM)


@pytest.mark.parametrize("name", ("recording.json", "columns.npz"))
@pytest.mark.parametrize("text", WRONG_TEXTS[1:], ids=range(1, len(WRONG_TEXTS)))
@pytest.mark.parametrize("output_format", ("json", "db"))
def test_a_forged_recording_is_one_sentence(name, text, output_format, tmp_path):
    path = archive(tmp_path / "bad.neff", {name: text}, forged=True)
    status, errors = view(path, output_format, tmp_path)
    assert status == 2 and errors.count("\n") == 1 and "bad.neff" in errors
    assert not (tmp_path / "out").exists()


def broken(path, kind):
    content = bytearray(archive(path).read_bytes())
    if kind == "cut off":
        content = content[: len(content) // 2]
    elif kind == "changed bytes":
        content[50:70] = bytes(20)
    elif kind == "an unknown method":
        for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
            at = content.find(signature)
            content[at + offset : at + offset + 2] = struct.pack("<H", 77)
    elif kind == "a password":
        for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            at = content.find(signature)
            content[at + offset] |= 1
    elif kind == "no text":
        archive(path, {"manifest.json": b"\xff\xfe"})
        return path
    elif kind == "no archive":
        content = b"x" * 100
    path.write_bytes(bytes(content))
    return path


@pytest.mark.parametrize(
    "kind",
    ("cut off", "changed bytes", "an unknown method", "a password", "no text", "no archive"),
)
def test_a_broken_archive_is_one_sentence(kind, tmp_path):
    status, errors = view(broken(tmp_path / "bad.neff", kind), "json", tmp_path)
    assert status == 2
    assert errors.count("\n") == 1 and "bad.neff" in errors and "is not" in errors


def test_archives_are_limited(tmp_path, monkeypatch):
    path = archive(tmp_path / "a.neff")
    unpacked = sum(map(len, members().values()))
    for name, fits in (("LARGEST_UNPACKED", unpacked), ("MOST_MEMBERS", len(members()))):
        with monkeypatch.context() as patch:
            patch.setattr(files, name, fits)
            program_file.read(path, program_file.PROGRAM)
            patch.setattr(files, name, fits - 1)
            with pytest.raises(ValueError, match=f"a.neff is not a program file.* {fits - 1} "):
                program_file.read(path, program_file.PROGRAM)
    size = path.stat().st_size
    monkeypatch.setitem(files.LARGEST, "archive", size)
    program_file.read(path, program_file.PROGRAM)
    monkeypatch.setitem(files.LARGEST, "archive", size - 1)
    with pytest.raises(ValueError, match=f"larger than {size - 1} bytes"):
        program_file.read(path, program_file.PROGRAM)


def test_a_member_that_unpacks_to_more_than_it_says_is_refused(tmp_path):
    path = archive(tmp_path / "bomb.neff", {"summary.json": " " * (64 << 20) + "{}"})
    content = bytearray(path.read_bytes())
    at = content.rfind(b"PK\x01\x02")
    content[at + 24 : at + 28] = struct.pack("<L", 10)
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="is not a program file"):
        program_file.read(path, program_file.PROGRAM)


@pytest.mark.parametrize(("text", "part"), (
    (DEEP, "nested too deep"),
    ("\0", "is not JSON"),
    ("[1", "is not JSON"),
    ('[{"id": "a", "family": "f", "arch": "trn2", "value": 1' + "0" * 5000 + "}]", "number"),
    ('[{"id": "a", "family": "f", "arch": "trn2", "value": 1' + "0" * 400 + "}]", "number"),
    ("[5]", "not an object"),
    ("{}", "not a list"),
    (b"\xff", "not text"),
))  # fmt: skip
def test_malformed_measurements_are_one_sentence(text, part, tmp_path):
    path = tmp_path / "m.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=part):
        load_measurements(path)
    status, errors = command("fidelity", "--data", path)
    assert status == 2 and errors.count("\n") == 1


def test_files_have_a_largest_size_and_are_no_pipes(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    path.write_text("[]" + " " * 98)
    monkeypatch.setitem(files.LARGEST, "measurements", 100)
    assert files.read_text(path, "measurements").strip() == "[]"
    path.write_text("[]" + " " * 99)
    with pytest.raises(ValueError, match="measurements '.*m.json' is larger than 100 bytes"):
        files.read_text(path, "measurements")
    for other in (tmp_path, "/dev/zero", tmp_path / "none", "a\0b"):
        with pytest.raises(ValueError, match="cannot be read"):
            files.read_text(other, "measurements")


def test_what_was_written_stays_when_the_next_write_fails(tmp_path):
    path = tmp_path / "out.json"
    files.write_whole(path, "old")
    code = f"""
import resource, signal
from neuron_sim.files import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
write_whole({str(path)!r}, "new")
try:
    write_whole({str(path)!r}, "x" * 5000)
except OSError as error:
    report([error.filename, type(error).__name__])
"""
    assert run_apart(code).result() == [str(path), "OSError"]
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["out.json"], "no temporary file is left"


def test_writing_goes_through_links_and_into_devices(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    files.write_whole(link, b"content")
    assert link.is_symlink() and target.read_bytes() == b"content"
    files.write_whole(os.devnull, "content")
    assert not os.path.isfile(os.devnull)
    with pytest.raises(OSError, match="/dev/full") as raised:
        files.write_whole("/dev/full", "content")
    assert raised.value.filename == "/dev/full"


def test_a_folder_that_takes_no_files_is_an_error_with_the_path(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "none" / "out", tmp_path / "file" / "out", tmp_path):
        with pytest.raises(OSError) as raised:
            files.write_whole(path, "content")
        assert raised.value.filename == str(path)
        status, errors = command(
            *("profile", "view", "-n", archive(tmp_path / "a.neff")),
            *("--output-format", "json", "--output-file", path),
        )
        assert status == 2 and errors.count("\n") == 1 and str(path) in errors


def test_a_trace_of_a_launch_that_cannot_be_written_leaves_no_file(tmp_path):
    code = f"""
import os, resource, torch
x = torch.ones(256, 256, device="neuron_sim")
with torch.neuron_sim.record_launches() as launches:
    x @ x
path = {str(tmp_path / "launch.pftrace")!r}
errors = []
def attempt(path):
    try:
        launches[0].write_perfetto(path)
        errors.append("")
    except Exception as error:
        errors.append(f"{{type(error).__name__}}: {{error}}")
attempt("/dev/full")
attempt(os.path.join(path, "none"))
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
attempt(path)
left = os.listdir(os.path.dirname(path))
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
attempt(path)
report([errors, left, b"visible_ps" in open(path, "rb").read()])
"""
    errors, left, written = run_apart(code).result()
    names = ("/dev/full", "launch.pftrace/none", "launch.pftrace")
    assert [each.startswith(("OSError", "FileNotFoundError")) for each in errors] == [True] * 3 + [
        False
    ]
    assert all(name in each for name, each in zip(names, errors, strict=False)), errors
    assert errors[3] == "" and written
    assert left == []
