"""Commit users (format section 3.1; Java: CoreOptions.createCommitUser)."""

from __future__ import annotations

import uuid

from paimon_spark.store.metadata.table import Table


def new_user(table: Table) -> str:
    """A new, unique commit user, with the prefix in the table's options."""
    prefix = table.settings.commits.user_prefix
    return f"{prefix}_{uuid.uuid4()}" if prefix else str(uuid.uuid4())
