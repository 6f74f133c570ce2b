"""Runs the code of a guide in a Connect session. Run by test_the_guide, which puts the options of a catalog in it."""

from __future__ import annotations

import sys
from pathlib import Path

from support.programs.connect_session import session_on_a_free_port


def main(code: str) -> None:
    exec(compile(Path(code).read_text(encoding="utf-8"), code, "exec"), {"spark": session_on_a_free_port()})


if __name__ == "__main__":
    main(sys.argv[1])
