"""Random changes of a catalog in a Hive metastore, which takes fewer names than others."""

from __future__ import annotations

import dataclasses

from paimon_spark.catalogs.identifier import Identifier
from support.oracles.catalog_model import Change

_NAMES = {"Shop": "depot", "ä b": "a_b", "T": "t2", "u.v": "u_v", "日本": "nihon"}


def hive_change(change: Change) -> Change:
    """The change with names that a metastore takes, and tells apart."""

    def name(one: Identifier) -> Identifier:
        return Identifier(_NAMES.get(one.database, one.database), _NAMES.get(one.table, one.table))

    return dataclasses.replace(change, table=name(change.table), to=name(change.to))
