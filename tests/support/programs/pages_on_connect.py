"""Pages of the documentation in a Connect session. Run by test_docs_snippets."""

from __future__ import annotations

import sys
from pathlib import Path

from doc_runs import run_page

from support.programs.connect_session import session_on_a_free_port


def main(folder: str, *pages: str) -> None:
    spark = session_on_a_free_port()
    for number, page in enumerate(pages):
        own = Path(folder) / str(number)
        own.mkdir()
        run_page(Path(page), spark, own)
    print(f"{len(pages)} pages print what they show")


if __name__ == "__main__":
    main(*sys.argv[1:])
