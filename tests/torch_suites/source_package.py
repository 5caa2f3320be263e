"""PyTorch's own test files, from Debian's source package of PyTorch 2.6: the wheel has none.

They are downloaded by the name of the package from the archive that apt is configured for, once,
into build/pytorch_tests; nothing is installed and no list of packages of the machine is changed.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "pytorch_tests"
PACKAGE = "pytorch"
RELEASE = "trixie"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
ARCHIVE = "pytorch_2.6.0+dfsg.orig.tar.xz"
SHA256 = "099a9601bc40d67656e75735c44abedb0fbe92d08817852ab7472eebb7e6ddff"

FILES = (
    "test_indexing", "test_view_ops", "test_sort_and_select", "test_shape_ops",
    "test_tensor_creation_ops", "test_type_promotion", "test_binary_ufuncs", "test_unary_ufuncs",
    "test_reductions", "test_torch", "test_serialization", "test_optim", "test_autograd",
    "test_nn", "test_ops",
)  # fmt: skip
# The files, the modules that they import, and the sources that a test of test_ops reads.
MEMBERS = (
    *(f"test/{name}.py" for name in FILES),
    "test/autograd/",
    "test/optim/",
    *(f"aten/src/ATen/native/{name}.cpp"
      for name in ("UnaryOps", "BinaryOps", "PointwiseOps", "TensorCompare")),
)  # fmt: skip


class UnavailableError(Exception):
    """The test files cannot be downloaded here, and why."""


def obtain(folder: Path = FOLDER) -> Path:
    """The folder with PyTorch's test files, which is made when it is missing; UnavailableError
    when the package cannot be downloaded or is another one."""
    tests = folder / "test"
    if (folder / "complete").exists():
        return tests
    archive = folder / ARCHIVE
    if not archive.exists():
        _download(folder)
    check(archive)
    _extract(archive, folder)
    (folder / "complete").touch()
    return tests


def check(archive: Path, expected: str = SHA256) -> None:
    """Removes an archive that has other bytes than those that were looked at, and says so."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found == expected:
        return
    archive.unlink()
    raise UnavailableError(f"{archive.name} has the SHA-256 {found}, not {expected}")


def archive_of(targets: str) -> str:
    """The address of Debian's main archive among apt's index targets, lines of address, origin and
    release name; UnavailableError when there is none."""
    for line in targets.splitlines():
        address, origin, codename = line.split("|")
        if origin == "Debian" and "-" not in codename:
            return address
    raise UnavailableError("apt has no Debian archive among its sources")


def _download(folder: Path) -> None:
    state = folder / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    targets = _run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)|$(ORIGIN)|$(CODENAME)",
         "Created-By: Packages", "Component: main"], folder,
    )  # fmt: skip
    sources = state / "source.sources"
    sources.write_text(
        f"Types: deb-src\nURIs: {archive_of(targets)}\nSuites: {RELEASE}\nComponents: main\n"
        f"Signed-By: {KEYS}\n"
    )
    options = [
        *("-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=/dev/null"),
        *("-o", f"Dir::State::lists={state / 'lists'}", "-o", f"Dir::Cache={state / 'cache'}"),
        *("-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30"),
    ]
    _run(["apt-get", "-qq", *options, "update"], folder)
    _run(["apt-get", "-qq", *options, "source", "--download-only", "--tar-only", PACKAGE], folder)
    shutil.rmtree(state)
    if not (folder / ARCHIVE).exists():
        raise UnavailableError(f"the source package {PACKAGE} of {RELEASE} has no {ARCHIVE}")


def _run(command: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UnavailableError(f"{command[0]} ended with {done.returncode}: {last}")
    return done.stdout


def _extract(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as package:
        for member in package:
            inner = member.name.partition("/")[2]  # without the name of the top folder
            data = package.extractfile(member) if inner.startswith(MEMBERS) else None
            if data is None or ".." in Path(inner).parts:
                continue
            place = folder / inner
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data.read())
