"""What a machine runs out of, for real: room on a disk, entries for files, the right to write, files to open."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

PAGE = 4096


@dataclass(frozen=True)
class SmallDisk:
    """A file system in memory, mounted at a directory."""

    path: Path

    @contextmanager
    def full(self, pages: int) -> Iterator[None]:
        """Within the block there is room for so many pages of 4 kB."""
        filler = self.path / "filler"
        with filler.open("wb") as file:
            left = os.statvfs(self.path).f_bavail - pages
            if left > 0:
                os.posix_fallocate(file.fileno(), 0, left * PAGE)
        try:
            yield
        finally:
            filler.unlink()

    @contextmanager
    def without_entries(self, entries: int) -> Iterator[None]:
        """Within the block there is room for so many more files and directories."""
        fillers = self.path / "fillers"
        fillers.mkdir()
        for number in range(os.statvfs(self.path).f_ffree - entries):
            os.mknod(fillers / str(number))
        try:
            yield
        finally:
            shutil.rmtree(fillers)

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Within the block nothing can be written."""
        _run("mount", "-o", "remount,ro", str(self.path))
        try:
            yield
        finally:
            _run("mount", "-o", "remount,rw", str(self.path))


@contextmanager
def small_disk(path: Path, entries: int = 2000) -> Iterator[SmallDisk]:
    """A disk of 32 MB; the test is skipped where this process may mount none.

    Args:
        path: of a directory, which is made.
        entries: how many files and directories the disk can have.
    """
    path.mkdir()
    try:
        _run("mount", "-t", "tmpfs", "-o", f"size=32m,nr_inodes={entries}", "tmpfs", str(path))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here: {error}")
    try:
        yield SmallDisk(path)
    finally:
        _run("umount", "--lazy", str(path))


@contextmanager
def few_files(more: int) -> Iterator[None]:
    """Within the block this process may open so many files more than it has open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    null = os.open(os.devnull, os.O_RDONLY)
    most = max(int(name) for name in os.listdir("/proc/self/fd"))
    held = [null]
    while held[-1] <= most:  # the limit is one of numbers, and lower ones may be free
        held.append(os.dup(null))
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[-1] + 1 + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for number in held:
            with suppress(OSError):
                os.close(number)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
