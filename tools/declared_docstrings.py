"""An extension of griffe, by which mkdocstrings finds what is made of the declarations of procedures (mkdocs.yml).

The pages are made of the text of the modules, in which a method with ``@documented(Copy)`` has no docstring, and
``expire_snapshots = method_of(ExpireSnapshots)`` is no method.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from paimon_spark.procedures.catalogue import PROCEDURES  # noqa: E402
from paimon_spark.procedures.procedure import docstring, documented, method_of  # noqa: E402

_BY_CLASS = {procedure.__name__: procedure for procedure in PROCEDURES.values()}


class DeclaredDocstrings(griffe.Extension):
    """Gives the docstring that Python gives to what calls ``documented`` or ``method_of``, and the signature too."""

    def on_function(self, *, func: griffe.Function, loader: griffe.GriffeLoader, **others: Any) -> None:
        for decorator in func.decorators:
            name, _, argument = str(decorator.value).rstrip(")").partition("(")
            if name == documented.__name__:
                _document(func, argument, loader)

    def on_attribute(self, *, attr: griffe.Attribute, loader: griffe.GriffeLoader, **others: Any) -> None:
        name, _, argument = str(attr.value).rstrip(")").partition("(")
        if name != method_of.__name__ or attr.parent is None:
            return
        signature = inspect.signature(method_of(_BY_CLASS[argument]))
        taken = [
            griffe.Parameter(
                one.name,
                annotation=_shown(one.annotation),
                kind=griffe.ParameterKind.positional_or_keyword,
                default=None if one.default is one.empty else repr(one.default),
            )
            for one in signature.parameters.values()
        ]
        function = griffe.Function(
            attr.name,
            parameters=griffe.Parameters(*taken),
            returns=_shown(signature.return_annotation),
            lineno=attr.lineno,
            endlineno=attr.endlineno,
        )
        _document(function, argument, loader)
        attr.parent.set_member(attr.name, function)


def _document(func: griffe.Function, procedure: str, loader: griffe.GriffeLoader) -> None:
    func.docstring = griffe.Docstring(
        docstring(_BY_CLASS[procedure]),
        parent=func,
        parser=loader.docstring_parser,
        parser_options=loader.docstring_options,
    )


def _shown(annotation: Any) -> str | None:
    """The type without the names of modules; None: there is none."""
    if annotation is inspect.Parameter.empty:
        return None
    return re.sub(r"(\w+\.)+(?=\w)", "", inspect.formatannotation(annotation))
