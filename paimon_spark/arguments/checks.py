"""Calls that refuse arguments of other types than they declare.

Python itself looks at no type. An argument of another kind would fail far from the call, in words about an attribute
that nobody asked for, or do the wrong thing without a word: ``row_kinds="false"`` would count as true.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, wraps
from types import FunctionType
from typing import Any, TypeVar, Unpack, cast, get_args, get_origin, get_type_hints

from paimon_spark.arguments.kinds import Kind, Misfit, described, kind_of
from paimon_spark.arguments.traces import needs_no_trace, shortened
from paimon_spark.errors import OptionError

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)
_MARK = "_checks_arguments"
_Take = Callable[[Any], Any]


def checks_arguments(cls: C) -> C:
    """Makes calls as ``checked`` does of all public methods of a class, also inherited ones, and of ``object[...]``."""
    for name in dir(cls):
        found = inspect.getattr_static(cls, name)
        if (name.startswith("_") and name != "__getitem__") or getattr(found, "__isabstractmethod__", False):
            continue
        if isinstance(found, classmethod):
            setattr(cls, name, classmethod(checked(found.__func__, of_class=True)))
        elif isinstance(found, FunctionType):
            setattr(cls, name, checked(found, of_class=True))
    return cls


def checked(function: F, of_class: bool = False) -> F:
    """A function that refuses arguments of other types than its annotations say, before it does anything.

    An error that tells the user what to do leaves it without the calls below it (``traces``).

    Args:
        function: its annotations must have a meaning in its module when it is called; of a parameter whose type is
            imported for checkers of types alone, the function itself looks at the value.
        of_class: whether its first parameter is the object or the class that is called, which the message names.
    """
    if hasattr(function, _MARK):
        return function

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        try:
            given, more = _checked_arguments(function, of_class, args, named)
            return function(*given, **more)
        except Exception as error:
            if not needs_no_trace(error):
                raise
            raise shortened(error)  # noqa: B904  # its cause is its own

    setattr(call, _MARK, True)
    return cast(F, call)


def _checked_arguments(
    function: Callable[..., Any], of_class: bool, args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as the function gets them.

    Raises:
        OptionError: one is of another kind.
    """
    signature, takes = _declared(function, of_class)
    try:
        given = signature.bind(*args, **named)
    except TypeError:
        return args, named  # Python says which argument is missing or unknown
    for name, value in given.arguments.items():
        if name in takes:
            try:
                given.arguments[name] = takes[name](value)
            except OptionError as error:
                owner = f"{_name_of(args[0])}." if of_class else ""
                raise OptionError(f"{owner}{function.__name__}: {error}", arguments=error.arguments) from None
    return given.args, given.kwargs


def _name_of(owner: Any) -> str:
    return owner.__name__ if isinstance(owner, type) else type(owner).__name__


@cache
def _declared(function: Callable[..., Any], of_class: bool) -> tuple[inspect.Signature, Mapping[str, _Take]]:
    """The signature of a function, and what takes the value of each parameter."""
    signature = inspect.signature(function)
    hints = _hints(inspect.unwrap(function))
    checks = list(signature.parameters.values())[of_class:]
    return signature, {parameter.name: _take_of(parameter, hints.get(parameter.name, Any)) for parameter in checks}


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of the parameters, by name."""
    hints: dict[str, Any] = {}
    for name in function.__annotations__.keys() - {"return"}:
        one = FunctionType((lambda: None).__code__, function.__globals__)
        one.__annotations__ = {name: function.__annotations__[name]}
        with suppress(NameError):
            hints |= get_type_hints(one)
    return hints


def _take_of(parameter: inspect.Parameter, annotation: Any) -> _Take:
    if parameter.kind is parameter.VAR_KEYWORD:
        named = get_type_hints(get_args(annotation)[0]) if get_origin(annotation) is Unpack else {}
        kinds = {name: kind_of(hint) for name, hint in named.items()}
        return lambda given: {name: _taken(name, kinds.get(name), value) for name, value in given.items()}
    kind = kind_of(annotation)
    if parameter.kind is parameter.VAR_POSITIONAL:
        return lambda given: tuple(_taken(parameter.name, kind, value) for value in given)
    return lambda value: _taken(parameter.name, kind, value)


def _taken(name: str, kind: Kind | None, value: Any) -> Any:
    """The value as the call gets it.

    Raises:
        OptionError: it is of another kind.
    """
    if kind is None:
        return value
    try:
        return kind.take(value)
    except Misfit as misfit:
        found, wanted = misfit.found or f"is {described(value)}", misfit.wanted or kind.words
    raise OptionError(f"the argument '{name}' {found}: expected {wanted}", arguments=(name,))
