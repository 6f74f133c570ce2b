"""Commit users, and the names of commits (format section 3.1; Java: CoreOptions.createCommitUser)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from paimon_spark.store.metadata.table import Table


@dataclass(frozen=True)
class CommitName:
    """The name under which a commit happens once.

    Attributes:
        user, identifier: the name.
        since: the id of a snapshot (0: none): only newer ones can be the commit.
    """

    user: str
    identifier: int
    since: int


def new_user(table: Table) -> str:
    """A new, unique commit user, with the prefix in the table's options."""
    prefix = table.settings.commits.user_prefix
    return f"{prefix}_{uuid.uuid4()}" if prefix else str(uuid.uuid4())
