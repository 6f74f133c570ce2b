"""Change data capture: messages of Debezium, Canal, Maxwell, GoldenGate and AWS DMS as changes of rows, in Arrow.

``decode`` makes a DataFrame of changes out of a DataFrame of messages; it lives in ``spark.cdc`` and is imported when
it is first asked for, so that this package starts without PySpark.

May import: ``arrow``. No Spark, no storage.
Invariants: a message is decoded whole, ignored by the name of its kind, or malformed: none is dropped silently. No
digit of a whole number is lost, and none of a decimal before the digits that its column has.
"""

from importlib import import_module

_HOMES = {"TableNames": "cdc.batches.routing", "decode": "spark.cdc.decode"}
__all__ = [*_HOMES]  # noqa: PLE0604 - all are texts


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"paimon_spark.{home}"), name)
    globals()[name] = value
    return value
