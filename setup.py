"""The page on a package index: README.md without what only a repository can show, pictures and links to its files."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup

_PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n+", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)[^)]*\)")


def description(readme: str) -> str:
    """README.md for a package index."""
    return _LINK.sub(r"\1", _PICTURE.sub("", readme))


if __name__ == "__main__":
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    setup(long_description=description(text), long_description_content_type="text/markdown")
