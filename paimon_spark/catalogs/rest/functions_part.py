"""The functions of a REST catalog (Java: RESTCatalog, RESTFunctionValidator)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from paimon_spark.catalogs.functions import Function
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.rest.base import DATABASE, RestServerNames, error_of
from paimon_spark.catalogs.rest.failures import Refused
from paimon_spark.errors import FunctionAlreadyExists, FunctionNotFound, NameTaken, OptionError, PaimonError
from paimon_spark.format.type_text import format_field, parse_field
from paimon_spark.format.types import DataField

_NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9._-]+")
_DEFINITION = "DEFINITION"
_NO_FUNCTIONS = 501  # of a server without functions


class RestFunctions(RestServerNames):
    """The part of the catalog that is about functions; see FunctionCatalog."""

    def list_functions(self, database: str) -> list[str]:
        with self.asking(f"listing the functions of '{database}'", database):
            return sorted(self.api.list_functions(database))

    @property
    def has_functions(self) -> bool:
        return True

    def find_function(self, identifier: Identifier) -> Function | None:
        if not _NAME.fullmatch(identifier.table):
            return None
        try:
            return _function(self.api.get_function(identifier.database, identifier.table))
        except Refused as error:
            if error.is_missing or error.status == _NO_FUNCTIONS:
                return None
            raise error_of(f"reading the function {identifier}", error) from None

    def load_function(self, identifier: Identifier) -> Function:
        try:
            return _function(self.api.get_function(identifier.database, _function_name(identifier)))
        except Refused as error:
            raise self._function_failure(f"reading the function {identifier}", identifier, error) from None

    def create_function(self, identifier: Identifier, function: Function, ignore_if_exists: bool = False) -> None:
        body = {
            "name": _function_name(identifier),
            "inputParams": _params_json(function.input_params),
            "returnParams": _params_json(function.return_params),
            "deterministic": function.deterministic,
            "definitions": {name: dict(definition) for name, definition in function.definitions.items()},
            "comment": function.comment,
            "options": dict(function.options),
        }
        with self.asking(f"creating the function {identifier}", identifier.database):
            try:
                self.api.create_function(identifier.database, body)
            except Refused as error:
                if not error.is_taken:
                    raise
                if not ignore_if_exists:
                    raise FunctionAlreadyExists(
                        f"there is a function {identifier} already; choose another name"
                    ) from None

    def alter_function(
        self, identifier: Identifier, changes: Sequence[Mapping[str, Any]], ignore_if_not_exists: bool = False
    ) -> None:
        try:
            self.api.alter_function(identifier.database, _function_name(identifier), changes)
        except Refused as error:
            if error.is_taken:
                raise NameTaken(f"changing the function {identifier}: {error}") from None
            if error.is_missing and error.resource != _DEFINITION and ignore_if_not_exists:
                return
            raise self._function_failure(f"changing the function {identifier}", identifier, error) from None

    def drop_function(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        try:
            self.api.drop_function(identifier.database, _function_name(identifier))
        except Refused as error:
            if not (error.is_missing and ignore_if_not_exists):
                raise self._function_failure(f"dropping the function {identifier}", identifier, error) from None

    def _function_failure(self, doing: str, identifier: Identifier, error: Refused) -> PaimonError:
        if not error.is_missing:
            return error_of(doing, error)
        if error.resource == _DEFINITION:
            return OptionError(f"{doing}: {error}")
        there = ", ".join(sorted(self.api.list_functions(identifier.database))) if error.resource != DATABASE else ""
        return FunctionNotFound(
            f"there is no function {identifier} in the catalog '{self.name}'; it has {there or 'none'}"
        )


def _function_name(identifier: Identifier) -> str:
    if not _NAME.fullmatch(identifier.table):
        raise OptionError(
            f"{identifier.table!r} cannot be the name of a function: it must have a letter, and only letters, digits, "
            "points, '_' and '-'"
        )
    return identifier.table


def _function(found: Mapping[str, Any]) -> Function:
    return Function(
        _params(found.get("inputParams")),
        _params(found.get("returnParams")),
        bool(found.get("deterministic")),
        dict(found.get("definitions") or {}),
        found.get("comment"),
        dict(found.get("options") or {}),
    )


def _params(params: Any) -> tuple[DataField, ...] | None:
    return None if params is None else tuple(parse_field(one) for one in params)


def _params_json(fields: tuple[DataField, ...] | None) -> list[dict[str, Any]] | None:
    return None if fields is None else [format_field(field) for field in fields]
