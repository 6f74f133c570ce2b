"""The documentation of a procedure, made of its declaration."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from paimon_spark.procedures.procedure import Declared, Procedure, arguments_of

F = TypeVar("F", bound=Callable[..., object])
_RAISES = "Raises:"
_WIDTH = 110


def documented(procedure: type[Procedure[Any]]) -> Callable[[F], F]:
    """Gives a method the documentation of the procedure that it runs."""

    def document(method: F) -> F:
        method.__doc__ = docstring(procedure)
        return method

    return document


def docstring(procedure: type[Procedure[Any]]) -> str:
    """What the class says, with its arguments before the errors."""
    said, raises, errors = inspect.cleandoc(procedure.__doc__ or "").partition(_RAISES)
    arguments = "\n".join(_lines(procedure))
    parts = (said.rstrip(), f"Args:\n{arguments}" if arguments else "", f"{raises}{errors}".rstrip())
    return "\n\n".join(part for part in parts if part)


def description(procedure: type[Procedure[Any]]) -> str:
    """What the class says, without the errors."""
    return inspect.cleandoc(procedure.__doc__ or "").partition(_RAISES)[0].rstrip()


def sentence(declared: Declared) -> str:
    """What is said of an argument, as it begins a line."""
    return declared.argument.doc[:1].upper() + declared.argument.doc[1:]


def _lines(procedure: type[Procedure[Any]]) -> Iterator[str]:
    for declared in arguments_of(procedure).values():
        paragraph = f"{declared.name}: {declared.argument.doc} {declared.kind.python}".rstrip()
        yield textwrap.fill(
            paragraph, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8, break_long_words=False,
            break_on_hyphens=False,
        )  # fmt: skip
