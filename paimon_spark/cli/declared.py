"""Options of commands that are made of the declarations of procedures: names, types, defaults and help."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from paimon_spark.cli.arguments import parse_older_than
from paimon_spark.procedures.procedure import Declared, Kind, Procedure, arguments_of, sentence


@dataclass(frozen=True)
class Shown:
    """How a command shows an argument, where that is not as the declaration says.

    Attributes:
        flag: the name of its option; None: made of the name of the argument.
        metavar: what its value is called; None: by its kind.
        default: another default; None: that of the declaration.
    """

    flag: str | None = None
    metavar: str | None = None
    default: bool | None = None


def takes(
    procedure: type[Procedure[Any]], *names: str, without: Sequence[str] = (), **shown: Shown
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Lets a command take arguments of a procedure in place of its parameter of that type.

    An argument without a default stands without a flag. What is not named has the default of the declaration.

    Args:
        names: of the arguments, in the order of the help.
        without: parameters that the command does not offer; they keep their defaults.
        shown: arguments that look different, after the others.
    """
    looks = {**dict.fromkeys(names, Shown()), **shown}
    declared = {name: arguments_of(procedure)[name] for name in looks}

    def take(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        [place] = [p.name for p in _parameters(command) if p.annotation is procedure]
        for parameter in _parameters(command):
            if parameter.name in without:
                continue
            made = [_parameter(declared[name], look) for name, look in looks.items()]
            parameters += made if parameter.name == place else [parameter]

        def run(**given: Any) -> None:
            values = {name: _value(declared[name], given.pop(name)) for name in looks}
            command(**given, **{place: procedure(**values)})

        wrapped: Any = run
        wrapped.__name__, wrapped.__doc__ = command.__name__, command.__doc__
        wrapped.__signature__ = inspect.Signature(parameters)
        wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return take


def _parameters(command: Callable[..., None]) -> list[inspect.Parameter]:
    """By names alone, so that those with a default may stand before others."""
    found = inspect.signature(command, eval_str=True).parameters.values()
    return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in found]


def _parameter(declared: Declared, look: Shown) -> inspect.Parameter:
    kind, metavar = declared.kind.option, look.metavar or declared.kind.metavar
    default: Any = declared.default if look.default is None else look.default
    if declared.is_required:
        default = inspect.Parameter.empty
        made = typer.Argument(show_default=False, help=_help(declared), metavar=metavar)
    else:
        flag, least = look.flag or f"--{declared.name.replace('_', '-')}", declared.argument.at_least
        has_default = default is not None
        made = typer.Option(flag, show_default=has_default, min=least, help=_help(declared), metavar=metavar)
        kind = kind if has_default else kind | None
    typed: Any = Annotated
    annotation = typed[kind, made]
    return inspect.Parameter(declared.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _help(declared: Declared) -> str:
    """What the declaration says; other arguments, whose names have two words, are called by their flags."""
    flags = re.sub(r"\b[a-z]+_[a-z_]+\b", lambda found: f"--{found[0].replace('_', '-')}", sentence(declared))
    return flags + declared.kind.example


def _value(declared: Declared, given: Any) -> Any:
    """As the procedure takes it: a time is read in the zone of the call."""
    return parse_older_than(given, declared.name) if declared.kind is Kind.MOMENT else given
