#!/usr/bin/env python3
"""Writes the wheels of both packages for every supported Python, and an sdist, into dist/.

Usage: build_wheels.py [--python 3.12 ...] [--torch 2.14 ...] [--machine aarch64]

The wheel of neuron_sim_torch holds a library for each version of torch. All are built in one tree,
where a change of Python or torch compiles only what depends on it; the headers and libraries of
torch are taken from its wheels, and no torch is installed. auditwheel then checks that a wheel
needs no library but the C and C++ run-times and those of torch, and gives it the tag of the oldest
glibc that it runs on. torch's OpenMP run-time is used, not a second copy: two in one process would
each start as many threads as there are processors. For aarch64 all is cross-built, with the headers
of the same interpreters, which are alike on both; tools/arm64.sh installs what that needs.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
WORK = ROOT / "build/wheels"
CORE_LIMIT, LAYER_LIMIT = 8 * 2**20, 20 * 2**20
"""The largest wheel of neuron_sim, and of neuron_sim_torch for each version of torch, in bytes."""
NEWEST_GLIBC = (2, 34)
"""That of Amazon Linux 2023 and RHEL 9, the oldest systems that Neuron's SDK supports."""
HERE, ARM64 = "x86_64", "aarch64"
TREES = {HERE: WORK / "tree", ARM64: ROOT / "build/arm64/tree"}
"""Where a machine's wheels are built, the latter with the core tests (tools/arm64.sh)."""
FROM_OTHER_PACKAGES = ("libtorch*.so", "libc10.so", "libgomp.so*", "libneuron_sim_core.so")
"""What a wheel takes from packages that are installed next to it."""
OF_TORCH = re.compile(
    r"torch/(include/.*|version\.py|lib/lib(torch|torch_cpu|torch_python|c10)\.so)"
)
"""The files of torch's wheel that a build reads."""


def run(*command: object, cwd: Path = ROOT, **environment: str) -> None:
    """CalledProcessError when the command fails."""
    words = [str(word) for word in command]
    subprocess.run(words, check=True, cwd=cwd, env={**os.environ, **environment})


def python_versions() -> list[str]:
    """The versions of Python that the package names as supported, oldest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = (name.rpartition(" :: ")[2] for name in project["classifiers"])
    return [name for name in names if re.fullmatch(r"3\.\d+", name)]


def torch_versions() -> list[str]:
    """The minor versions of torch that the build knows, oldest first."""
    text = (ROOT / "cmake/neuron_sim_torch.cmake").read_text(encoding="utf-8")
    match = re.search(r"set\(NEURON_SIM_TORCH_VERSIONS ([\d. ]+)\)", text)
    assert match is not None
    return match[1].split()


def interpreter(version: str) -> Path:
    """The newest interpreter of a version, on the path or of pyenv; SystemExit without one."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = sorted(root.glob(f"versions/{version}.*/bin/python{version}"), reverse=True)
    on_path = shutil.which(f"python{version}")
    for candidate in [*candidates, *([Path(on_path)] if on_path else [])]:
        if subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
            return candidate
    raise SystemExit(f"build_wheels: there is no python{version}: install it, or with pyenv")


def build_environment(version: str) -> Path:
    """The interpreter of an environment with what a build of a Python version needs."""
    folder = WORK / f"python{version}"
    python = folder / "bin/python"
    if not python.exists():
        run(interpreter(version), "-m", "venv", folder)
        requirements = set()
        for path in (ROOT / "pyproject.toml", ROOT / "csrc/pyproject.toml"):
            requirements |= {*tomllib.loads(path.read_text())["build-system"]["requires"]}
        needed = sorted(name for name in requirements if not name.startswith("torch"))
        run(python, "-m", "pip", "install", "--quiet", *needed)
    return python


def torch_folder(version: str, machine: str = HERE) -> Path:
    """The folder torch/ of the newest release of a minor version: headers and libraries."""
    folder = WORK / (f"torch-{version}" + (f"-{machine}" if machine != HERE else ""))
    if not (folder / "torch/version.py").exists():
        options = ("--no-deps", "--only-binary=:all:", "--quiet", "--dest", folder)
        target = ["--python-version", python_versions()[0]]
        target += ["--platform", f"manylinux_2_28_{machine}"]
        run(sys.executable, "-m", "pip", "download", *options, *target, f"torch=={version}.*")
        wheel = next(folder.glob("torch-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if OF_TORCH.fullmatch(name)]
            names.sort(key=lambda name: name.endswith("version.py"))  # the mark of a whole folder
            for name in names:
                archive.extract(name, folder)
        wheel.unlink()
    return folder / "torch"


def cross_environment(python: Path) -> dict[str, str]:
    """What makes builds with an interpreter name their files after arm64."""
    tag = "print('cpython-%d%d' % __import__('sys').version_info[:2])"
    shown = subprocess.run([python, "-c", tag], capture_output=True, text=True, check=True)
    suffix = f".{shown.stdout.strip()}-{ARM64}-linux-gnu.so"
    return {"_PYTHON_HOST_PLATFORM": f"linux-{ARM64}", "SETUPTOOLS_EXT_SUFFIX": suffix}


def built_wheel(
    python: Path, source: Path, folder: Path, machine: str, **definitions: object
) -> Path:
    """The wheel of the package whose pyproject.toml is in `source`, as pip builds it."""
    tree = TREES[machine]
    environment = {"CXX": "g++", "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    if machine == ARM64:
        environment |= cross_environment(python)
        definitions["CMAKE_TOOLCHAIN_FILE"] = ROOT / "cmake/arm64.cmake"
    for name in ("CMakeCache.txt", ".skbuild-info.json"):  # of another Python; objects stay
        (tree / name).unlink(missing_ok=True)
    settings = [f"build-dir={tree}"]
    settings += [f"cmake.define.{name}={value}" for name, value in definitions.items()]
    options = [f"--config-settings={setting}" for setting in settings]
    flags = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    run(python, "-m", "pip", "wheel", *flags, *options, source, cwd=ROOT, **environment)
    return next(folder.glob("*.whl"))


def joined(wheels: Iterable[Path], folder: Path) -> Path:
    """One wheel with the files of all, whose oneDNN, if any, finds torch's OpenMP as ours do."""
    content = folder / "content"
    for wheel in wheels:
        run(sys.executable, "-m", "wheel", "unpack", "--dest", folder / wheel.parent.name, wheel)
        shutil.copytree(next((folder / wheel.parent.name).iterdir()), content, dirs_exist_ok=True)
    library = content / "neuron_sim_torch/lib/libdnnl.so.3"
    if library.exists():
        run("patchelf", "--set-rpath", "$ORIGIN/../../torch/lib", library)
    packed = folder / "packed"
    packed.mkdir()
    run(sys.executable, "-m", "wheel", "pack", "--dest-dir", packed, content)
    return next(packed.iterdir())


def repaired(wheel: Path, folder: Path) -> Path:
    """The wheel with the tag of its platform, in a folder."""
    excluded = [word for name in FROM_OTHER_PACKAGES for word in ("--exclude", name)]
    run(sys.executable, "-m", "auditwheel", "repair", *excluded, "--wheel-dir", folder, wheel)
    return next(folder.iterdir())


def objection(wheel: Path, limit: int) -> str:
    """Why the wheel is not one to publish; empty when it is."""
    size = wheel.stat().st_size
    if size > limit:
        return f"{wheel.name} has {size} bytes; the limit is {limit}"
    tags = re.findall(r"manylinux_(\d+)_(\d+)_", wheel.name)
    if not tags:
        return f"{wheel.name} has no manylinux tag"
    if min((int(major), int(minor)) for major, minor in tags) > NEWEST_GLIBC:
        return f"{wheel.name} needs a glibc newer than {'.'.join(map(str, NEWEST_GLIBC))}"
    with zipfile.ZipFile(wheel) as archive:
        copies = [name for name in archive.namelist() if ".libs/" in name]
    return f"{wheel.name} holds copies of system libraries: {copies}" if copies else ""


def published(wheel: Path, limit: int, folder: Path) -> Path:
    """The repaired wheel in dist/; SystemExit when it is not one to publish."""
    result = repaired(wheel, folder / "repaired")
    problem = objection(result, limit)
    if problem:
        raise SystemExit(f"build_wheels: {problem}")
    return Path(shutil.copy(result, DIST))


def core_wheel(version: str, machine: str) -> Path:
    """The wheel of neuron_sim for a Python version in dist/."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = built_wheel(build_environment(version), ROOT, folder / "raw", machine)
        return published(wheel, CORE_LIMIT, folder)


def layer_wheels(pythons: list[str], torches: list[str], machine: str) -> list[Path]:
    """The wheels of neuron_sim_torch for Python versions, for all these torches, in dist/."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheels: dict[str, list[Path]] = {version: [] for version in pythons}
        for torch in torches:
            definitions = {"NEURON_SIM_TORCH_FOLDER": torch_folder(torch, machine)}
            for version in pythons:
                raw = folder / version / torch
                python = build_environment(version)
                wheel = built_wheel(python, ROOT / "csrc", raw, machine, **definitions)
                wheels[version].append(wheel)
        results = []
        for version in pythons:
            wheel = joined(wheels[version], folder / version / "joined")
            results.append(published(wheel, LAYER_LIMIT * len(torches), folder / version))
        return results


def sdist() -> Path:
    """The source package in dist/, of tracked files alone."""
    from scikit_build_core.build import build_sdist

    with tempfile.TemporaryDirectory() as name:
        run("git", "worktree", "add", "--detach", "--quiet", name, "HEAD")
        try:
            os.chdir(name)
            return DIST / build_sdist(str(DIST))
        finally:
            os.chdir(ROOT)
            run("git", "worktree", "remove", "--force", name)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Writes wheels and an sdist into dist/.")
    parser.add_argument("--python", nargs="+", default=python_versions(), help="versions of Python")
    parser.add_argument("--torch", nargs="+", default=torch_versions(), help="versions of torch")
    parser.add_argument("--machine", choices=TREES, default=HERE, help="processor of the wheels")
    parsed = parser.parse_args(arguments)
    if parsed.machine == HERE:  # those of another machine lie beside them
        shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir(exist_ok=True)
    written = [core_wheel(version, parsed.machine) for version in parsed.python]
    written += layer_wheels(parsed.python, parsed.torch, parsed.machine)
    written += [sdist()] if parsed.machine == HERE else []
    for path in written:
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 2**20:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
