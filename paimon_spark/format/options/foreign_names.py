"""Answers for those who call a method by the name that another system gives it."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, NoReturn

from paimon_spark.errors import UnsupportedMethod
from paimon_spark.format.options.other_systems import METHOD_ADVICE


def refuse_name(owner: type | ModuleType, name: str, asked: object, advice_of: Mapping[str, str]) -> NoReturn:
    """
    Args:
        advice_of: what to call, by the name that another system has.

    Raises:
        UnsupportedMethod: another system has a method of this name, or the name is one of ours in another spelling,
            such as create_tag and createTag; the message says what is called here.
        AttributeError: nobody has.
    """
    advice = advice_of.get(name)
    if advice is None and not name.startswith("_"):
        alike = [own for own in dir(owner) if not own.startswith("_") and _plain(own) == _plain(name)]
        advice = f"it is called {alike[0]} here" if alike else None
    if advice is None:
        raise AttributeError(f"'{owner.__name__}' has no attribute '{name}'", name=name, obj=asked)
    raise UnsupportedMethod(f"{owner.__name__} has no '{name}': {advice}")


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


class AdvisedType(ABCMeta):
    """The type of a class whose missing names are answered: ``PaimonTable.forName``, before there is an object."""

    if not TYPE_CHECKING:  # a checker of types shall go on to see that the name is not there

        def __getattr__(cls, name: str) -> NoReturn:
            refuse_name(cls, name, cls, cls._advice)


class ForeignNames(metaclass=AdvisedType):
    """An object whose missing names are answered with what to call; to Python it is an AttributeError as any other.

    Attributes:
        _advice: by the name that another system has.
    """

    _advice: ClassVar[Mapping[str, str]] = METHOD_ADVICE

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            refuse_name(type(self), name, self, self._advice)
