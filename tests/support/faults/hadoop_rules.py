"""HDFS as far as renaming goes, over a local directory."""

from __future__ import annotations

import os
from threading import Lock

from pyarrow import fs

_NAME_NODE = Lock()
"""A name node does one operation at a time."""


class RefusingRename:
    """A local directory with HDFS's rename: False for a taken name, nothing replaced."""

    def __init__(self, root: str) -> None:
        self.files = fs.SubTreeFileSystem(root, fs.LocalFileSystem())
        self.root = root

    def rename(self, source: str, target: str) -> bool:
        if os.path.isdir(self.root + source):
            return self._rename_directory(self.root + source, self.root + target)
        try:
            os.link(self.root + source, self.root + target)
        except OSError:
            return False
        os.unlink(self.root + source)
        return True

    def _rename_directory(self, source: str, target: str) -> bool:
        """HDFS puts a directory into a target that exists."""
        with _NAME_NODE:
            into = os.path.join(target, os.path.basename(source)) if os.path.isdir(target) else target
            if os.path.exists(into) or not os.path.isdir(os.path.dirname(into)):
                return False
            os.rename(source, into)
            return True


def hadoop_rules(root: str, address: str, rules: type[RefusingRename] = RefusingRename) -> RefusingRename:
    assert address == "hdfs://name:8020"
    return rules(root)
