"""The Avro schemas of the metadata files we write: those of Java 2.x, which Java 0.9 reads too (format section 4)."""

from __future__ import annotations

from typing import Any


def _nullable(avro_type: Any) -> dict[str, Any]:
    return {"type": ["null", avro_type], "default": None}


def _array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _record(name: str, **fields: Any) -> dict[str, Any]:
    """A record; a field is an Avro type, or the dict of _nullable. Nested ones are named as in Java: record_<field>."""
    listed = [
        {"name": key, **(t if isinstance(t, dict) and "default" in t else {"type": t})} for key, t in fields.items()
    ]
    return {"type": "record", "name": name, "fields": listed}


def _stats(name: str) -> dict[str, Any]:
    counts = _nullable(_array(["null", "long"]))
    return _record(name, _MIN_VALUES="bytes", _MAX_VALUES="bytes", _NULL_COUNTS=counts)


def _top(**fields: Any) -> dict[str, Any]:
    return {**_record("record", **fields), "namespace": "org.apache.paimon.avro.generated"}


MANIFEST_LIST = _top(
    _VERSION="int",
    _FILE_NAME="string",
    _FILE_SIZE="long",
    _NUM_ADDED_FILES="long",
    _NUM_DELETED_FILES="long",
    _PARTITION_STATS=_stats("record__PARTITION_STATS"),
    _SCHEMA_ID="long",
    _MIN_BUCKET=_nullable("int"),
    _MAX_BUCKET=_nullable("int"),
    _MIN_LEVEL=_nullable("int"),
    _MAX_LEVEL=_nullable("int"),
    _MIN_ROW_ID=_nullable("long"),
    _MAX_ROW_ID=_nullable("long"),
)

DATA_FILE = _record(
    "record__FILE",
    _FILE_NAME="string",
    _FILE_SIZE="long",
    _ROW_COUNT="long",
    _MIN_KEY="bytes",
    _MAX_KEY="bytes",
    _KEY_STATS=_stats("record__FILE__KEY_STATS"),
    _VALUE_STATS=_stats("record__FILE__VALUE_STATS"),
    _MIN_SEQUENCE_NUMBER="long",
    _MAX_SEQUENCE_NUMBER="long",
    _SCHEMA_ID="long",
    _LEVEL="int",
    _EXTRA_FILES=_array("string"),
    _CREATION_TIME=_nullable({"type": "long", "logicalType": "timestamp-millis"}),
    _DELETE_ROW_COUNT=_nullable("long"),
    _EMBEDDED_FILE_INDEX=_nullable("bytes"),
    _FILE_SOURCE=_nullable("int"),
    _VALUE_STATS_COLS=_nullable(_array("string")),
    _EXTERNAL_PATH=_nullable("string"),
    _FIRST_ROW_ID=_nullable("long"),
    _WRITE_COLS=_nullable(_array("string")),
    _WRITE_COLS_SEQUENCES=_nullable(_array("long")),
)

MANIFEST = _top(_VERSION="int", _KIND="int", _PARTITION="bytes", _BUCKET="int", _TOTAL_BUCKETS="int", _FILE=DATA_FILE)

INDEX_MANIFEST = _top(
    _VERSION="int",
    _KIND="int",
    _PARTITION="bytes",
    _BUCKET="int",
    _INDEX_TYPE="string",
    _FILE_NAME="string",
    _FILE_SIZE="long",
    _ROW_COUNT="long",
    _DELETIONS_VECTORS_RANGES=_nullable(
        _array(
            [
                "null",
                _record(
                    "record__DELETIONS_VECTORS_RANGES",
                    f0="string",
                    f1="int",
                    f2="int",
                    _CARDINALITY=_nullable("long"),
                ),
            ]
        )
    ),
    _EXTERNAL_PATH=_nullable("string"),
    _GLOBAL_INDEX=_nullable(
        _record(
            "record__GLOBAL_INDEX",
            _ROW_RANGE_START="long",
            _ROW_RANGE_END="long",
            _INDEX_FIELD_ID="int",
            _EXTRA_FIELD_IDS=_nullable(_array("int")),
            _INDEX_META=_nullable("bytes"),
            _SOURCE_META=_nullable("bytes"),
        )
    ),
)
