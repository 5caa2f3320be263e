#!/usr/bin/env python3
"""Writes a wheel and an sdist of the package into dist/, and tries the wheel in a new environment.

Usage: build_wheel.py [--no-check]

The wheel is built in build/release, where everything is compiled already, and repaired by
auditwheel, which checks that it needs no library but the C and C++ run-times and those of torch,
and gives it the tag of the oldest glibc that it runs on. torch's OpenMP run-time is used, not a
second copy: two in one process would each start as many threads as there are processors.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
SIZE_LIMIT = 20 * 2**20
"""The largest wheel in bytes; a third more than one has now, most of it oneDNN."""
TORCH_LIBRARIES = ("libtorch*.so", "libc10.so", "libgomp.so.1")
"""What the wheel takes from torch, which is installed next to it."""
LIBRARY_FOLDERS = "$ORIGIN:$ORIGIN/../../torch/lib"
"""Where the libraries of neuron_sim/lib find what they need, as cmake/neuron_sim_install.cmake."""
PROGRAM = """\
import torch, neuron_sim
x = torch.randn(64, 64, device="neuron_sim")
assert (x @ x - (x.cpu() @ x.cpu()).to("neuron_sim")).abs().max().item() < 1e-3
y = torch.ops.neuron_sim.matmul(torch.eye(3), torch.eye(3))  # the CPU reference, by oneDNN
assert y.equal(torch.eye(3))
import neuron_sim.nki
print("neuron_sim", neuron_sim.__version__, "with torch", torch.__version__)
"""


def run(*command: object, cwd: Path = ROOT) -> None:
    subprocess.run([str(part) for part in command], check=True, cwd=cwd)


def built_wheel(folder: Path) -> Path:
    """The wheel as pip builds it, in a folder, from the objects of build/release."""
    settings = ["build-dir=build/release"]
    settings += [f"cmake.define.NEURON_SIM_{name}=ON" for name in ("TESTS", "MODELS", "BENCHMARKS")]
    settings += ["build.targets=torch_neuron_sim;_core;_C;core_stub"]
    options = [f"--config-settings={setting}" for setting in settings]
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    flags = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    run(*pip, "wheel", *flags, *options, ROOT)
    return next(folder.glob("neuron_sim-*.whl"))


def with_torchs_libraries(wheel: Path, folder: Path) -> Path:
    """A copy of the wheel whose oneDNN finds torch's OpenMP, as our own libraries do."""
    run(sys.executable, "-m", "wheel", "unpack", "--dest", folder / "unpacked", wheel)
    content = next((folder / "unpacked").iterdir())
    run("patchelf", "--set-rpath", LIBRARY_FOLDERS, content / "neuron_sim/lib/libdnnl.so.3")
    packed = folder / "packed"
    packed.mkdir()
    run(sys.executable, "-m", "wheel", "pack", "--dest-dir", packed, content)
    return next(packed.iterdir())


def repaired(wheel: Path, folder: Path) -> Path:
    """The wheel with the tag of its platform, in a folder."""
    excluded = [part for name in TORCH_LIBRARIES for part in ("--exclude", name)]
    run(sys.executable, "-m", "auditwheel", "repair", *excluded, "--wheel-dir", folder, wheel)
    return next(folder.iterdir())


def sdist() -> Path:
    """The source package in dist/, made by the build backend itself."""
    from scikit_build_core.build import build_sdist

    os.chdir(ROOT)
    return DIST / build_sdist(str(DIST))


def objection(wheel: Path) -> str:
    """Why the wheel is not one to publish; empty when it is."""
    size = wheel.stat().st_size
    if size > SIZE_LIMIT:
        return f"{wheel.name} has {size} bytes; the limit is {SIZE_LIMIT}"
    if "manylinux" not in wheel.name:
        return f"{wheel.name} has no manylinux tag"
    with zipfile.ZipFile(wheel) as archive:
        grafted = [name for name in archive.namelist() if name.startswith("neuron_sim.libs/")]
    return f"{wheel.name} holds copies of system libraries: {grafted}" if grafted else ""


def check(wheel: Path) -> None:
    """Installs the wheel into a new environment and runs kernels there.

    torch and its dependencies come from the package index; CalledProcessError when a step fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "environment", with_pip=True)
        python = folder / "environment/bin/python"
        run(python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", wheel)
        run(python, "-c", PROGRAM, cwd=folder)
        run(python, "-m", "pip", "check", cwd=folder)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Writes a wheel and an sdist into dist/.")
    parser.add_argument("--no-check", action="store_true", help="do not install the wheel")
    parsed = parser.parse_args(arguments)
    DIST.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "raw").mkdir()
        wheel = with_torchs_libraries(built_wheel(folder / "raw"), folder)
        found = repaired(wheel, folder / "repaired")
        problem = objection(found)
        if problem:
            print(f"build_wheel: {problem}", file=sys.stderr)
            return 1
        result = Path(shutil.copy(found, DIST))
    if not parsed.no_check:
        check(result)
    for path in (result, sdist()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 2**20:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
