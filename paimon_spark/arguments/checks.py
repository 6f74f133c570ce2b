"""Calls that refuse arguments which they do not declare, and those of other types; errors as they leave a public call.

Of a name that is missing or unknown Python shows the name alone, and not the call. It looks at no type. An argument of
another kind would fail far from the call, in words about an attribute that nobody asked for, or do the wrong thing
without a word: ``row_kinds="false"`` would count as true.

Errors as they leave a public call: the line of the caller, and the sentence. Python shows an error with every call
below the one that the user wrote, and then the errors it came from. Where one is raised on purpose, nobody who reads
its sentence can do anything with them. Other errors are bugs, and stay whole.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from itertools import pairwise
from types import FunctionType, MappingProxyType
from typing import Any, TypeVar, Unpack, cast, get_args, get_origin, get_type_hints

from paimon_spark.arguments.kinds import Kind, Misfit, described, kind_of
from paimon_spark.errors import ArgumentError, OptionError, PaimonError, ResourcesExhausted, is_shortage, similar_names

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)
_MARK = "_checks_arguments"
_Take = Callable[[Any], Any]
SETTING = "PAIMON_SPARK_TRACEBACK"
"""The variable of the environment that keeps all traces whole: ``full``."""
# What Spark says of a statement or of a value. Its other errors may come from a task, where the fault may be ours.
_OF_SPARK = {
    "AnalysisException",
    "ArithmeticException",
    "ArrayIndexOutOfBoundsException",
    "DateTimeException",
    "NumberFormatException",
    "ParseException",
    "SparkRuntimeException",
}


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


def checked(function: F, of_class: bool = False, advice: Mapping[str, str] = MappingProxyType({})) -> F:
    """A function that refuses arguments of other types than its annotations say, before it does anything.

    An error that tells the user what to do leaves it without the calls below it (``shortened``).

    Args:
        function: its annotations must have a meaning in its module when it is called; of a parameter whose type is
            imported for checkers of types alone, the function itself looks at the value.
        of_class: whether its first parameter is the object or the class that is called, which the message names.
        advice: what to give instead, by the call with the argument: ``call(name)``; that of a class is its own.
    """
    if hasattr(function, _MARK):
        return function

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        try:
            given, more = _checked_arguments(function, of_class, args, named, advice)
            found = function(*given, **more)
            return _shortening(found, function, args) if inspect.isgeneratorfunction(function) else found
        except Exception as error:
            raise _public_error(error, function, args)  # noqa: B904  # its cause is its own

    setattr(call, _MARK, True)
    return cast(F, call)


def _shortening(values: Iterator[Any], function: Callable[..., Any], args: tuple[Any, ...]) -> Iterator[Any]:
    """The values of a generator, whose errors come while it is read."""
    try:
        yield from values
    except Exception as error:
        raise _public_error(error, function, args)  # noqa: B904  # its cause is its own


def _public_error(error: Exception, function: Callable[..., Any], args: tuple[Any, ...]) -> Exception:
    """The error that leaves the call: memory that ran out somewhere below it has the name of the call."""
    if is_shortage(error) and not isinstance(error, PaimonError):
        owner = args[0] if args else None
        place = owner if isinstance(owner, str) else getattr(getattr(owner, "table", owner), "location", None)
        named = ResourcesExhausted.of(f"{function.__name__}{f' of {place}' if isinstance(place, str) else ''}", error)
        named.__cause__ = error
        error = named
    return shortened(error) if needs_no_trace(error) else error


def checked_with(advice: Mapping[str, str]) -> Callable[[F], F]:
    """``checked`` for a function that others call otherwise; advice: as there."""

    def decorate(function: F) -> F:
        return checked(function, advice=advice)

    return decorate


def _checked_arguments(
    function: Callable[..., Any],
    of_class: bool,
    args: tuple[Any, ...],
    named: dict[str, Any],
    advice: Mapping[str, str],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as the function gets them.

    Raises:
        OptionError: one is of another kind.
        ArgumentError: one is missing, or is none of the call.
    """
    if of_class and not args:
        return args, named  # Python says that the object is missing
    signature, takes = _declared(function, of_class)
    owner = f"{_name_of(args[0])}." if of_class else ""
    try:
        given = signature.bind(*args, **named)
    except TypeError:
        parameters = list(signature.parameters.values())[of_class:]
        advice = getattr(args[0], "_advice", {}) if of_class else advice
        found = _wrong_names(function, parameters, args[of_class:], named, advice)
        call = f"{function.__name__}({', '.join(_shown(parameters))})"
        then = " The" if found.endswith("?") else "; the"
        raise ArgumentError(f"{owner}{function.__name__}: {found}{then} call is {call}") from None
    for name, value in given.arguments.items():
        if name in takes:
            try:
                given.arguments[name] = takes[name](value)
            except OptionError as error:
                then = advice.get(f"{function.__name__}({name})", "")
                said = f"{owner}{function.__name__}: {error}{'; ' if then else ''}{then}"
                raise OptionError(said, arguments=error.arguments) from None
    return given.args, given.kwargs


def _wrong_names(
    function: Callable[..., Any],
    parameters: Sequence[inspect.Parameter],
    args: Sequence[Any],
    named: Mapping[str, Any],
    advice_of: Mapping[str, str],
) -> str:
    """What is wrong with arguments that a call does not take.

    Args:
        advice_of: what to do, by the name of a call with an argument that another system has, such as ``call(name)``.
    """
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    given = {parameter.name for parameter in by_place[: len(args)]}
    takes_more = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    for name in named:
        if name in given:
            return f"the argument '{name}' is given twice, by its place and by its name"
        if not takes_more and name not in {parameter.name for parameter in parameters}:
            near = similar_names(name, [p.name for p in parameters if p.name not in {*given, *named}])
            advice = advice_of.get(f"{function.__name__}({name})") or (f"did you mean '{near[0]}'?" if near else "")
            return f"the argument '{name}' is not known{f'; {advice}' if advice else ''}"
    missing = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    for parameter in missing:
        if parameter.name not in {*given, *named}:
            kind = kind_of(_hints(inspect.unwrap(function)).get(parameter.name, Any))
            advice = advice_of.get(f"{function.__name__}({parameter.name})", "")
            wanted = f": expected {kind.words}" if kind else ""
            return f"the argument '{parameter.name}' is missing{wanted}{f'; {advice}' if advice else ''}"
    return f"too many arguments are given by their place: {len(args)} instead of {len(by_place)}"


def _shown(parameters: Sequence[inspect.Parameter]) -> Iterator[str]:
    """The parameters as somebody gives them; those with a default have ``=...``."""
    for before, parameter in pairwise([None, *parameters]):
        assert parameter is not None
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        star = "**" if parameter.kind is parameter.VAR_KEYWORD else star
        if parameter.kind is parameter.KEYWORD_ONLY and (before is None or before.kind is before.POSITIONAL_OR_KEYWORD):
            yield "*"
        yield f"{star}{parameter.name}{'' if parameter.default is parameter.empty else '=...'}"


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


def needs_no_trace(error: BaseException) -> bool:
    """True if the sentence of an error is all that the user needs of it, and the settings do not ask for more."""
    if os.environ.get(SETTING, "").strip().lower() == "full":
        return False
    kinds = type(error).__mro__
    return isinstance(error, PaimonError) or any(
        kind.__name__ in _OF_SPARK and kind.__module__.startswith("pyspark.errors") for kind in kinds
    )


def shortened(error: Exception) -> Exception:
    """The error without its calls. Its cause stays, for programs, without calls and without causes of its own."""
    cause = error.__cause__
    if cause is not None:
        cause.__traceback__ = cause.__cause__ = None
        cause.__suppress_context__ = True
    error.__suppress_context__ = True
    return error.with_traceback(None)
