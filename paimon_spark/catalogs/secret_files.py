"""Passwords of a catalog, in files that only the user of this process can read.

Options of tables travel through Spark to all its processes, and Spark may show them. A process that commits needs the
catalog, though, and runs on the machine of the driver: the options name a file, and the file has the passwords. It
lives as long as the process that has made it.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from paimon_spark.errors import OptionError


def kept_secrets(secrets: Mapping[str, str]) -> str:
    """Writes options into a file, once for the same options.

    Args:
        secrets: options of a catalog by their keys.

    Returns:
        The path of the file.

    Raises:
        OptionError: the directory of the file has become one that other users can enter.
    """
    path = _path(os.getpid(), json.dumps(dict(sorted(secrets.items()))))
    _make_again(path.parent)  # before a file there is believed
    if not path.exists():
        begun = path.with_name(f"{path.name}.{os.urandom(4).hex()}")
        with open(os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(dict(secrets), file)
        begun.replace(path)
    return str(path)


def _make_again(directory: Path) -> None:
    """Makes the directory where something that cleans up has removed it; its name is known by now, to others as well.

    One of others may have a file with options of theirs, such as another address of the catalog.

    Raises:
        OptionError: as of kept_secrets.
    """
    with suppress(FileExistsError):
        directory.mkdir(0o700)
    found = directory.lstat()
    ours = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)
    if not stat.S_ISDIR(found.st_mode) or not ours:
        raise OptionError(
            f"the passwords of the catalog cannot be kept in {directory}: something has removed this directory of the "
            "process, and it is there again as one that other users can enter. Open the catalog in a new process, "
            "and have what cleans the directory of temporary files leave paimon-spark-* alone"
        )


@cache
def _path(process: int, text: str) -> Path:
    """Where these options are. The name is by chance: it is shown, and tells nothing about a password."""
    return _directory(process) / f"{os.urandom(16).hex()}.json"


def read_secrets(path: str) -> dict[str, str]:
    """The options in the file.

    Raises:
        OptionError: it is not there, because this is another machine, or the process that made it has ended.
    """
    try:
        with open(path) as file:
            return {str(key): str(value) for key, value in json.load(file).items()}
    except FileNotFoundError:
        raise OptionError(
            f"the passwords of the catalog are in {path}, which is not there: the file is on the machine of the "
            "process that opened the catalog, and goes with it, or was removed. Commit there, or open the catalog in "
            "this process"
        ) from None
    except OSError as error:
        raise OptionError(f"the passwords of the catalog cannot be read from {path}: {error.strerror}") from None


@cache
def _directory(process: int) -> Path:
    """A directory that only the user can enter; a fork makes its own."""
    made = Path(tempfile.mkdtemp(prefix="paimon-spark-"))
    atexit.register(_remove, made, process)
    return made


def _remove(directory: Path, process: int) -> None:
    if os.getpid() == process:  # not in forks, which inherit this registration
        shutil.rmtree(directory, ignore_errors=True)
