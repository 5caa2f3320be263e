"""Unpacks files of a pinned commit from a folder of git directories, without a work tree."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path


def git_directory(mirror: Path, repository: str) -> Path:
    """The git directory of `owner/name` in `mirror`: `owner+name/repo`, or a clone `owner+name`.

    FileNotFoundError when there is none.
    """
    base = mirror / repository.replace("/", "+")
    for candidate in (base / "repo", base / ".git", base):
        if (candidate / "HEAD").is_file():
            return candidate
    raise FileNotFoundError(f"no clone of {repository} in {mirror}: git clone it to {base}.")


def unpack(git: Path, commit: str, folder: Path, paths: Sequence[str]) -> None:
    """Writes `paths` of `commit` (all of it without any) to `folder` in the place of what it has.

    Objects that a partial clone lacks are left out. CalledProcessError for an unknown commit;
    ValueError when no file of the commit has such a path.
    """
    shutil.rmtree(folder, ignore_errors=True)
    command = ["git", "--git-dir", str(git)]
    listing = subprocess.run(
        [*command, "ls-tree", "-r", "-z", commit, "--", *paths], capture_output=True, check=True
    )
    entries = [entry.split("\t", 1) for entry in listing.stdout.decode().split("\0") if entry]
    files = [(head.split()[2], name) for head, name in entries if head.startswith("100")]
    if not files:
        raise ValueError(f"{git} has none of {', '.join(paths)} at {commit}.")
    objects = subprocess.run(
        [*command, "cat-file", "--batch"],
        input="".join(f"{blob}\n" for blob, _ in files).encode(),
        capture_output=True,
        check=True,
    ).stdout
    position = 0
    for _, name in files:
        end = objects.index(b"\n", position)
        header = objects[position:end].split()
        position = end + 1
        if header[-1] == b"missing":
            continue
        content = objects[position : position + int(header[2])]
        position += int(header[2]) + 1
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
