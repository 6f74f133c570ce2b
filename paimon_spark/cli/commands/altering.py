"""``alter``: changes columns, comments and options of a table, or shows what would be different."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from paimon_spark.cli.arguments import Branch, Output, OutputFormat, TableOptions, TablePath, parse_options, parse_pairs
from paimon_spark.cli.messages import if_stopped
from paimon_spark.cli.tables import print_result
from paimon_spark.store.evolution.alter import AlterResult, alter, buckets_to_rescale
from paimon_spark.store.evolution.changes import SchemaChange, SetOption, UnsetOption
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import open_data_table

app: Final = typer.Typer()


@dataclass(frozen=True)
class _Place:
    """Where a column goes, and its comment: what the flags say."""

    after: str | None
    before: str | None
    first: bool
    last: bool
    comment: str | None

    @property
    def is_said(self) -> bool:
        return self.after is not None or self.before is not None or self.first or self.last


@dataclass(frozen=True)
class _Action:
    """One of the changes.

    Attributes:
        words: what stands behind its name, for messages; one that ends in ... may be repeated.
        make: adds the change to an update.
        has_place: whether the flags of places go with it. has_comment: whether --comment does.
    """

    words: tuple[str, ...]
    make: Callable[[SchemaUpdate, Sequence[str], _Place], object]
    has_place: bool = False
    has_comment: bool = False


def _add(update: SchemaUpdate, words: Sequence[str], place: _Place) -> None:
    update.add_column(words[0], words[1], place.comment, place.after, place.before, place.first)


def _drop(update: SchemaUpdate, words: Sequence[str], place: _Place) -> None:
    for name in words:
        update.drop_column(name)


def _move(update: SchemaUpdate, words: Sequence[str], place: _Place) -> None:
    update.move_column(words[0], place.after, place.before, place.first, place.last)


_ACTIONS: dict[str, _Action] = {
    "add-column": _Action(("NAME", "TYPE"), _add, has_place=True, has_comment=True),
    "rename-column": _Action(("NAME", "NEW-NAME"), lambda u, w, p: u.rename_column(w[0], w[1])),
    "drop-column": _Action(("NAME...",), _drop),
    "move-column": _Action(("NAME",), _move, has_place=True),
    "update-type": _Action(("NAME", "TYPE"), lambda u, w, p: u.update_type(w[0], w[1])),
    "set-nullable": _Action(("NAME",), lambda u, w, p: u.set_nullable(w[0])),
    "set-not-null": _Action(("NAME",), lambda u, w, p: u.set_nullable(w[0], nullable=False)),
    "set-comment": _Action(("NAME", "TEXT"), lambda u, w, p: u.set_comment(w[0], w[1])),
    "drop-comment": _Action(("NAME",), lambda u, w, p: u.set_comment(w[0], None)),
    "set-default": _Action(("NAME", "LITERAL"), lambda u, w, p: u.set_default(w[0], w[1])),
    "drop-default": _Action(("NAME",), lambda u, w, p: u.drop_default(w[0])),
    "set-table-comment": _Action(("TEXT",), lambda u, w, p: u.set_table_comment(w[0])),
    "set-options": _Action(("KEY=VALUE...",), lambda u, w, p: u.set_options(parse_pairs(w, "KEY=VALUE"))),
    "unset-options": _Action(("KEY...",), lambda u, w, p: u.unset_options(*w)),
}
_LIST = "; ".join(f"{name} {' '.join(action.words)}" for name, action in _ACTIONS.items())


@app.command("alter")
def alter_schema(
    path: TablePath,
    action: Annotated[str, typer.Argument(metavar="CHANGE", show_default=False, help=f"One of: {_LIST}.")],
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS...",
            show_default=False,
            help="What the change needs. A column in a struct is named by its path: address.city, lines.element.price.",
        ),
    ],
    after: Annotated[
        str | None, typer.Option("--after", metavar="NAME", show_default=False, help="The column goes behind this one.")
    ] = None,
    before: Annotated[
        str | None,
        typer.Option("--before", metavar="NAME", show_default=False, help="The column goes in front of this one."),
    ] = None,
    first: Annotated[bool, typer.Option("--first", help="The column goes in front of all.")] = False,
    last: Annotated[bool, typer.Option("--last", help="The column goes behind all.")] = False,
    comment: Annotated[
        str | None, typer.Option("--comment", metavar="TEXT", show_default=False, help="The comment of a new column.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be different.")] = False,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Changes columns, comments and options: one new schema; rows stay as they are."""
    place = _Place(after, before, first, last, comment)
    update = SchemaUpdate()
    _checked(action, words, place).make(update, words, place)
    table = open_data_table(path, parse_options(option, branch))
    with if_stopped("the schema is as it was, or changed as a whole: the command 'schema' shows it"):
        done = alter(table, update.changes, case_sensitive=False, dry_run=dry_run)
    print_result(done, lambda _: "\n".join([_text(done), *_what_follows(table, update.changes, done)]), output)


def _checked(name: str, words: Sequence[str], place: _Place) -> _Action:
    action = _ACTIONS.get(name)
    if action is None:
        raise typer.BadParameter(f"'{name}' is no change; it is one of: {', '.join(_ACTIONS)}", param_hint="CHANGE")
    repeats = action.words[-1].endswith("...")
    if len(words) < len(action.words) or (len(words) > len(action.words) and not repeats):
        raise typer.BadParameter(f"{name} needs: {' '.join(action.words)}", param_hint="WORDS")
    if place.is_said and not action.has_place:
        raise typer.BadParameter(
            f"{name} gives a column no place", param_hint="'--after', '--before', '--first', '--last'"
        )
    if place.comment is not None and not action.has_comment:
        raise typer.BadParameter("add-column takes it; set-comment changes that of a column", param_hint="'--comment'")
    if place.last and name == "add-column":
        raise typer.BadParameter("a new column is the last one without it", param_hint="'--last'")
    return action


def _what_follows(table: Table, changes: Sequence[SchemaChange], done: AlterResult) -> Iterator[str]:
    """Options that were not there to be unset, and what a change of the number of buckets leaves to do."""
    for change in changes:
        if isinstance(change, UnsetOption) and change.key not in table.schema.options:
            yield f"the table has no option '{change.key}' to unset"
    buckets = [change.value for change in changes if isinstance(change, SetOption) and change.key == "bucket"]
    if buckets and done.dry_run and done.difference and table.snapshots.latest_id() is not None:
        yield buckets_to_rescale(table, int(buckets[-1]))


def _text(done: AlterResult) -> str:
    if not done.difference:
        return f"nothing changes; the schema is {done.schema_id}"
    head = f"schema {done.schema_id} would change:" if done.dry_run else f"schema {done.schema_id}:"
    return "\n".join([head, *(f"  {line}" for line in done.difference)])
