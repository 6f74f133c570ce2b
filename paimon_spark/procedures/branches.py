"""Branches: made, changed, given to the table, deleted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Argument, DryRun, Procedure
from paimon_spark.store.history.branches import (
    CreateBranchResult,
    DeleteBranchResult,
    create_branch,
    delete_branch,
    rename_branch,
)
from paimon_spark.store.history.fast_forward import FastForwardResult, fast_forward
from paimon_spark.store.metadata.table import Table


@dataclass(frozen=True)
class CreateBranch(Procedure[CreateBranchResult]):
    """Makes a branch, empty or from a tag or snapshot; read and write it with the option `branch`.

    Raises:
        NameTaken: there is such a branch, or another one gets this name, or one that broke off began elsewhere.
        SnapshotNotFound: there is no such tag or snapshot, or it is expiring just now; nothing was made.
        CorruptFile: all snapshots of the table are lost; nothing was made.
        OptionError: the name is none, or both a tag and a snapshot are given.
    """

    official = (TABLE, "branch", "tag", "ignoreIfExists")

    name: Annotated[
        str, Argument("the name of the branch: not 'main', not blank, and not of digits alone.", sql="branch")
    ]
    tag: Annotated[
        str | None, Argument("the branch begins with what this tag keeps, and has the tag too; else it is empty.")
    ] = None
    snapshot: Annotated[int | None, Argument("the branch begins with the snapshot of this id; else it is empty.")] = (
        None
    )
    ignore_if_exists: Annotated[
        bool, Argument("whether a branch that is there already is fine.", sql="ignoreIfExists")
    ] = False

    def perform(self, table: Table, engine: Engine) -> CreateBranchResult:
        return create_branch(table, self.name, self.tag, self.snapshot, self.ignore_if_exists)


@dataclass(frozen=True)
class RenameBranch(Procedure[None]):
    """Gives a branch another name. A crash may leave it both names; a second call finishes the work.

    Raises:
        SnapshotNotFound: there is no such branch.
        NameTaken: there is one of the new name.
        OptionError: a name is none, or the table reads from the branch.
    """

    official = (TABLE, "from_branch", "to_branch")

    name: Annotated[str, Argument("the name of the branch.", sql="from_branch")]
    new_name: Annotated[str, Argument("its name from now on.", sql="to_branch")]

    def perform(self, table: Table, engine: Engine) -> None:
        rename_branch(table, self.name, self.new_name)


@dataclass(frozen=True)
class DeleteBranch(Procedure[DeleteBranchResult]):
    """Deletes branches. Data files that only they need are orphans then, and go with the other orphan files.

    What is left of a branch whose making or renaming broke off is deleted too.

    Raises:
        SnapshotNotFound: there is no such branch; nothing was deleted.
        OptionError: the table reads from the branch, or the name is none.
    """

    official = (TABLE, "branch")

    names: Annotated[str | Iterable[str], Argument("the names of the branches.", sql="branch")]
    dry_run: DryRun = False

    def perform(self, table: Table, engine: Engine) -> DeleteBranchResult:
        return delete_branch(table, self.names, self.dry_run)


@dataclass(frozen=True)
class FastForward(Procedure[FastForwardResult]):
    """Gives the table the snapshots, tags and schemas of a branch, in place of its own since the branch began.

    What others commit to the table concurrently goes too, or is committed again on top of what came. Data files of what
    goes stay until orphan files are removed.

    Raises:
        OptionError: the branch is the one that the table is opened on, or main.
        SnapshotNotFound: there is no such branch, it has no snapshot, or an expiry takes some of them just now.
    """

    official = (TABLE, "branch")

    branch: Annotated[str, Argument("the name of the branch.")]
    dry_run: Annotated[bool, Argument("whether only to tell what would go and come.")] = False

    def perform(self, table: Table, engine: Engine) -> FastForwardResult:
        return fast_forward(table, self.branch, self.dry_run)
