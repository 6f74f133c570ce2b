"""Functions of a catalog (Java: Function, FunctionDefinition). Only the REST catalog stores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.types import DataField


@dataclass(frozen=True)
class Function:
    """A function as the catalog stores it.

    Attributes:
        input_params: None: they are not declared.
        return_params: None: they are not declared.
        definitions: by the name of the engine or dialect; each as in the JSON of the REST protocol, with ``type``
            (``sql``, ``lambda`` or ``file``) and the members of that type.
        comment: None: it has none.
        options: others.
    """

    input_params: tuple[DataField, ...] | None = None
    return_params: tuple[DataField, ...] | None = None
    deterministic: bool = False
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


class FunctionCatalog(Protocol):
    """The part of a catalog that is about functions.

    All raise UnsupportedFeature where ``has_functions`` is False, but for ``find_function``, which then finds none.
    """

    @property
    def has_functions(self) -> bool:
        """True if the catalog can hold functions."""
        ...

    def find_function(self, identifier: Identifier) -> Function | None:
        """A function; None: there is none of that name."""
        ...

    def list_functions(self, database: str) -> list[str]:
        """The names of the functions of a database, sorted."""
        ...

    def load_function(self, identifier: Identifier) -> Function:
        """A function.

        Raises:
            FunctionNotFound: there is no such function.
        """
        ...

    def create_function(self, identifier: Identifier, function: Function, ignore_if_exists: bool = False) -> None:
        """Stores a function.

        Raises:
            FunctionAlreadyExists: there is a function of that name, and ignore_if_exists is false.
        """
        ...

    def alter_function(
        self, identifier: Identifier, changes: Sequence[Mapping[str, Any]], ignore_if_not_exists: bool = False
    ) -> None:
        """Changes a function.

        Args:
            identifier: the function.
            changes: each as in the JSON of the REST protocol, with ``action``.
            ignore_if_not_exists: a missing one is no error.

        Raises:
            FunctionNotFound: there is no such function, and ignore_if_not_exists is false.
        """
        ...

    def drop_function(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Drops a function.

        Raises:
            FunctionNotFound: there is no such function, and ignore_if_not_exists is false.
        """
        ...


class NoFunctions:
    """The part of a catalog that has no functions."""

    @property
    def has_functions(self) -> bool:
        return False

    def find_function(self, identifier: Identifier) -> Function | None:
        """None: there is none."""
        return None

    def list_functions(self, database: str) -> list[str]:
        """Always refused."""
        raise _no_functions(f"listing the functions of '{database}'")

    def load_function(self, identifier: Identifier) -> Function:
        """Always refused."""
        raise _no_functions(f"reading the function {identifier}")

    def create_function(self, identifier: Identifier, function: Function, ignore_if_exists: bool = False) -> None:
        """Always refused."""
        raise _no_functions(f"creating the function {identifier}")

    def alter_function(
        self, identifier: Identifier, changes: Sequence[Mapping[str, Any]], ignore_if_not_exists: bool = False
    ) -> None:
        """Always refused."""
        raise _no_functions(f"changing the function {identifier}")

    def drop_function(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Refused, unless a function that is not there is no error."""
        if not ignore_if_not_exists:
            raise _no_functions(f"dropping the function {identifier}")


def _no_functions(doing: str) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"{doing}: only a REST catalog stores functions, and this is none; make a function of the Spark session, "
        "CREATE TEMPORARY FUNCTION"
    )
