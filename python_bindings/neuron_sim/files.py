"""User files: read within limits, written whole or not at all.

Any fault in a file that is read is a ValueError of one sentence that names it; an error of the
host is an OSError with its path.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
import zipfile
from typing import Any, Final, TypeAlias

Path: TypeAlias = "str | os.PathLike[str]"

LARGEST: Final = {
    "measurements": 64 << 20,
    "overlay": 1 << 20,
    "timeline page": 512 << 20,
    "trace file": 512 << 20,
    "profile index": 64 << 20,
    "archive": 512 << 20,
}
"""Bytes of a file by kind; of an archive as stored. device/arch/reader.cpp has the limit of
architecture files."""
LARGEST_UNPACKED: Final = 2 << 30
"""Bytes of all members of an archive together."""
MOST_MEMBERS: Final = 16
"""Members of an archive."""


def read_text(path: Path, kind: str) -> str:
    """The text of a file of one of the kinds of LARGEST.

    ValueError when it is too large, not text, not a regular file, or cannot be read.
    """
    name, most = os.fspath(path), LARGEST[kind]
    try:
        with open(path, "rb") as file:
            _check_regular(file.fileno(), name, kind)
            content = file.read(most + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{kind} '{name}' cannot be read: {reason}.") from None
    if len(content) > most:
        raise ValueError(f"{kind} '{name}' is larger than {most} bytes.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{kind} '{name}' is not text: {error}.") from None


def _check_regular(descriptor: int, name: str, kind: str) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise ValueError("it is not a regular file")


def parse_json(text: str | bytes, what: str) -> Any:
    """The value of a JSON text; ValueError, `what` is not JSON, for anything else."""
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{what} is not JSON: {error}.") from None
    except RecursionError:
        raise ValueError(f"{what} is not JSON of ours: it is nested too deep.") from None
    except ValueError:  # more digits than Python reads
        raise ValueError(f"{what} is not JSON of ours: it has a number out of range.") from None


def read_archive(path: Path, what: str) -> dict[str, bytes]:
    """The members of a zip archive. FileNotFoundError; ValueError, it is not `what`."""
    name = os.fspath(path)
    refusal = f"{name} is not {what}"
    try:
        if os.path.getsize(path) > LARGEST["archive"]:
            raise ValueError(f"{refusal}: it is larger than {LARGEST['archive']} bytes.")
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MOST_MEMBERS:
                raise ValueError(f"{refusal}: it has more than {MOST_MEMBERS} members.")
            if sum(member.file_size for member in members) > LARGEST_UNPACKED:
                raise ValueError(f"{refusal}: it unpacks to more than {LARGEST_UNPACKED} bytes.")
            # zipfile reads no more of a member than its stated size.
            return {member.filename: archive.read(member) for member in members}
    except zipfile.BadZipFile as error:
        raise ValueError(f"{refusal}.") from error
    except (NotImplementedError, RuntimeError, EOFError) as error:  # a method, a password, cut off
        raise ValueError(f"{refusal}.") from error
    except Exception as error:
        if type(error).__module__ in ("zlib", "_lzma") or type(error).__name__ == "error":
            raise ValueError(f"{refusal}.") from error
        raise


def check_writable(path: Path) -> None:
    """OSError with the path where write_whole() would fail, as far as can be seen without writing:
    for what is to be known before hours of work."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    code = 0
    if os.path.isdir(target):
        code = errno.EISDIR
    elif os.path.exists(target) and not os.access(target, os.W_OK):
        code = errno.EACCES
    elif not os.path.exists(folder):
        code = errno.ENOENT
    elif not os.path.isdir(folder):
        code = errno.ENOTDIR
    elif not os.path.exists(target) and not os.access(folder, os.W_OK):
        code = errno.EACCES
    if code:
        raise OSError(code, os.strerror(code), os.fspath(path))


def write_whole(path: Path, content: bytes | str) -> None:
    """Writes a file atomically: a temporary one in the same folder, then renamed.

    Anything but a regular file, such as /dev/stdout, is written directly. OSError with the path; an
    existing file is unchanged.
    """
    target = os.path.realpath(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            with open(target, "wb") as file:
                file.write(data)
        else:
            _replace(target, data)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def _replace(target: str, data: bytes) -> None:
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".neuron-sim-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
