"""Collects changes of a schema, step by step, as Python calls (Iceberg's UpdateSchema is made like this)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.errors import OptionError, SchemaError, UnsupportedMethod
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataType
from paimon_spark.store.evolution import changes as c

Name: TypeAlias = str | Sequence[str]
"""A column: its name, or a path with points such as "address.city"; a sequence is a path too, without points."""

_PART = r"(?:`(?:[^`]|``)+`|[^.`]+)"


def column_path(name: Name) -> c.Path:
    """The path that a text with points, or a sequence of names, means.

    Raises:
        SchemaError: it is none.
    """
    if not isinstance(name, str):
        path = tuple(name)
    elif re.fullmatch(rf"{_PART}(?:\.{_PART})*", name):
        parts = re.findall(_PART, name)
        path = tuple(part[1:-1].replace("``", "`") if part.startswith("`") else part for part in parts)
    else:
        path = ()
    if not path or not all(path):
        raise SchemaError(f"'{name}' is no name of a column: names are joined by points, `a.b` is one name")
    return path


def column_position(after: str | None = None, before: str | None = None, first: bool = False) -> c.Position | None:
    """The place that the arguments say; None: they say none.

    Raises:
        OptionError: they say two.
    """
    problems = [
        *([] if after is None else [c.Position(c.Place.AFTER, after)]),
        *([] if before is None else [c.Position(c.Place.BEFORE, before)]),
        *([c.Position(c.Place.FIRST)] if first else []),
    ]
    if len(problems) > 1:
        raise OptionError("'after', 'before' and 'first' exclude each other", arguments=("after", "before", "first"))
    return problems[0] if problems else None


class SchemaBlock:
    """A ``with`` block whose value collects changes of a schema; they are made at its end, or not if it raises."""

    def __init__(self, update: SchemaUpdate, publish: Callable[[tuple[c.SchemaChange, ...]], object]) -> None:
        """publish: makes the changes, and returns the result."""
        self._update = update
        self._publish = publish

    def __enter__(self) -> SchemaUpdate:
        return self._update

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is None:
            self._update.result = self._publish(self._update.changes)

    if not TYPE_CHECKING:  # a checker of types shall go on to see that the name is not there

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise UnsupportedMethod(
                "changes of a schema are made by a with block: with table.update_schema() as change: "
                f"change.{name}(...)"
            )


@checks_arguments
class SchemaUpdate:
    """Changes that are made together, in the order of the calls: they give one new schema, or none.

    A column is named by its name, and what is nested in it by a path with points: "address.city",
    "lines.element.price", "prices.value". Every method returns the same object, so that calls chain.

    Attributes:
        changes: so far.
        result: what was published, an AlterResult; None before that.
    """

    def __init__(self, read_type: Callable[[Any], DataType] = parse_type) -> None:
        """read_type: makes a type of what the caller gives for one."""
        self.changes: tuple[c.SchemaChange, ...] = ()
        self.result: object = None
        self._read_type = read_type

    def add_column(
        self,
        name: Name,
        data_type: Any,
        comment: str | None = None,
        after: str | None = None,
        before: str | None = None,
        first: bool = False,
    ) -> SchemaUpdate:
        """A new column, which is NULL in the rows that are there.

        Args:
            name: its name, or its path: "address.zip" adds a field to a struct.
            data_type: such as "bigint" or "ARRAY<INT>"; it may not be NOT NULL.
            comment: None: it has none.
            after: the name of the column that it goes behind; without a place it is the last one.
            before: the name of the column that it goes in front of.
            first: it goes in front of all.

        Raises:
            SchemaError, UnsupportedFeature: the type cannot be understood.
        """
        position = column_position(after, before, first)
        return self._with(c.AddColumn(column_path(name), self._read_type(data_type), comment, position))

    def rename_column(self, name: Name, new_name: str) -> SchemaUpdate:
        """Another name for a column; new_name has no path. Options that name the column are rewritten.

        Raises:
            SchemaError: new_name begins with the path of the field.
        """
        path = column_path(name)
        before = "".join(f"{part}." for part in path[:-1])
        if before and new_name.startswith(before):
            raise SchemaError(
                f"renaming {'.'.join(path)} to '{new_name}': the new name is that of the field alone; give "
                f"'{new_name.removeprefix(before)}'"
            )
        return self._with(c.RenameColumn(path, new_name))

    def drop_column(self, name: Name, if_exists: bool = False) -> SchemaUpdate:
        """Takes a column out; if_exists: one that is not there is no error."""
        return self._with(c.DropColumn(column_path(name), if_exists))

    def update_type(self, name: Name, data_type: Any) -> SchemaUpdate:
        """Another type for a column; whether it may hold NULL stays as it is. Rows are cast when they are read."""
        return self._with(c.UpdateType(column_path(name), self._read_type(data_type)))

    def set_nullable(self, name: Name, nullable: bool = True) -> SchemaUpdate:
        """Lets a column hold NULL. False makes it NOT NULL, which few tables allow."""
        return self._with(c.UpdateNullable(column_path(name), nullable))

    def set_comment(self, name: Name, comment: str | None) -> SchemaUpdate:
        """The comment of a column; None takes it away."""
        return self._with(c.UpdateComment(column_path(name), comment))

    def set_default(self, name: Name, default: str) -> SchemaUpdate:
        """The value that rows get which are written without the column: the text of a literal, such as "'new'"."""
        return self._with(c.UpdateDefault(column_path(name), default))

    def drop_default(self, name: Name) -> SchemaUpdate:
        """Takes the default value of a column away."""
        return self._with(c.UpdateDefault(column_path(name), None))

    def move_column(
        self,
        name: Name,
        after: str | None = None,
        before: str | None = None,
        first: bool = False,
        last: bool = False,
    ) -> SchemaUpdate:
        """Another place for a column among those beside it; one of the arguments says which.

        Raises:
            OptionError: none does, or more than one.
        """
        position = column_position(after, before, first)
        if last == (position is not None):
            raise OptionError(
                "a column is moved by exactly one of 'after', 'before', 'first' and 'last'",
                arguments=("after", "before", "first", "last"),
            )
        return self._with(c.MoveColumn(column_path(name), position or c.Position(c.Place.LAST)))

    def set_table_comment(self, comment: str | None) -> SchemaUpdate:
        """The comment of the table; None takes it away."""
        return self._with(c.SetTableComment(comment))

    def set_options(self, options: Mapping[str, str]) -> SchemaUpdate:
        """Table options; "comment" is the comment of the table."""
        return self._with(*option_changes(options))

    def unset_options(self, *keys: str) -> SchemaUpdate:
        """Takes table options away, which then have their default; one that is not set is no error."""
        return self._with(*unset_changes(keys))

    def drop_primary_key(self) -> SchemaUpdate:
        """The table has no primary key any more, which is possible while it never had rows."""
        return self._with(c.DropPrimaryKey())

    def _with(self, *more: c.SchemaChange) -> SchemaUpdate:
        self.changes += more
        return self


def option_changes(options: Mapping[str, str]) -> tuple[c.SchemaChange, ...]:
    """The changes that set options; ``comment`` is that of the table, as in TBLPROPERTIES."""
    return tuple(
        c.SetTableComment(str(value)) if key.lower() == "comment" else c.SetOption(key, str(value))
        for key, value in options.items()
    )


def unset_changes(keys: Sequence[str]) -> tuple[c.SchemaChange, ...]:
    """The changes that remove options."""
    return tuple(c.SetTableComment(None) if key.lower() == "comment" else c.UnsetOption(key) for key in keys)
