"""An extension of griffe, by which mkdocstrings finds the docstrings that are made of declarations (mkdocs.yml).

The pages are made of the text of the modules, in which a method with ``@documented(ExpireSnapshots)`` has no docstring.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from paimon_spark.procedures.catalogue import PROCEDURES  # noqa: E402
from paimon_spark.procedures.procedure import docstring, documented  # noqa: E402

_BY_CLASS = {procedure.__name__: procedure for procedure in PROCEDURES.values()}


class DeclaredDocstrings(griffe.Extension):
    """Gives a function with the decorator ``documented`` the docstring that Python gives it."""

    def on_function(self, *, func: griffe.Function, loader: griffe.GriffeLoader, **others: Any) -> None:
        for decorator in func.decorators:
            name, _, argument = str(decorator.value).rstrip(")").partition("(")
            if name == documented.__name__:
                func.docstring = griffe.Docstring(
                    docstring(_BY_CLASS[argument]),
                    parent=func,
                    parser=loader.docstring_parser,
                    parser_options=loader.docstring_options,
                )
