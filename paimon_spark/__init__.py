"""Apache Paimon tables on PySpark, in Python alone.

``open_table`` and ``create_table`` need no Spark: rows as Arrow batches of any table, writes, and procedures.
``open_catalog`` opens the tables of a warehouse by name. ``PaimonTable`` is the same for Spark.
``expire_snapshots``, ``expire_changelogs`` and ``open_blob`` need no Spark either.
``check`` verifies a table, as the program ``paimon-spark check PATH`` does.

A name is imported when it is first asked for: the program and the tasks of Spark start without what they do not use.
Types of the names: ``__init__.pyi``.
"""

from importlib import import_module
from importlib.util import find_spec
from sys import modules

from paimon_spark import errors

_HOMES = {
    "BlobDescriptor": "format.blob_file",
    "BlobView": "format.blob_file",
    "CheckResult": "store.checks.report",
    "CompactResult": "store.compact.outcomes",
    "ExpireSnapshotsResult": "store.expire.snapshots",
    "PaimonTable": "spark.table.table_api",
    "RowChangeResult": "row_changes.result",
    "WriteResult": "writes.write_job",
    "catalog": "spark.catalog.session_catalog",
    "check": "store.checks.table",
    "col": "arrow.predicates.expressions",
    "create_table": "tables.open",
    "expire_changelogs": "store.expire.changelogs",
    "expire_snapshots": "store.expire.snapshots",
    "json_texts": "arrow.variants",
    "open_blob": "tables.blobs",
    "open_catalog": "tables.open",
    "open_table": "tables.open",
    "register": "spark.source.source",
    "register_catalog": "spark.spark_catalog.registration",
}
# only here: tasks would pay for it
_CHECKED = (
    "check",
    "create_table",
    "expire_changelogs",
    "expire_snapshots",
    "open_blob",
    "open_catalog",
    "open_table",
    "register",
    "register_catalog",
)
_FORMER_NAMES = {
    "CompactionMetrics": "CompactResult",
    "ExpiryResult": "ExpireSnapshotsResult",
    "Report": "CheckResult",
    "WriteMetrics": "WriteResult",
}
__all__ = ["__version__", "errors", *_HOMES]  # noqa: PLE0604 - all are texts

# pyproject.toml takes it from here: so it is the version of the code that runs, in a zip or a checkout too.
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    name = _FORMER_NAMES.get(name, name)
    home = _HOMES.get(name)
    if home is None:
        if not name.startswith("_") and find_spec(f"{__name__}.{name}") is None:
            advice = import_module(f"{__name__}.format.options.other_systems").MODULE_ADVICE
            refuse_name = import_module(f"{__name__}.format.options.foreign_names").refuse_name
            refuse_name(modules[__name__], name, modules[__name__], advice)
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    try:
        value = getattr(import_module(f"{__name__}.{home}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyspark":
            raise
        raise ModuleNotFoundError(
            f"{__name__}.{name} needs PySpark, which is not installed: pip install pyspark; open_table and "
            "open_catalog work without it",
            name=error.name,
        ) from None
    if name in _CHECKED:
        advice = import_module(f"{__name__}.format.options.other_systems").ARGUMENT_ADVICE
        value = import_module(f"{__name__}.arguments.checks").checked(value, advice=advice)
        value.__module__ = __name__  # where pickle finds it
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
