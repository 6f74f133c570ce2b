"""The catalogue of options holds every option of the official system, once, and is true of each."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support.draws.format_values import INT, STRING

import paimon_spark
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.catalogue import CATALOGUE, NO_EFFECT, Status, catalogued, known_key
from paimon_spark.format.options.option import Moment, Refused
from paimon_spark.format.options.table_settings import TABLE_OPTIONS, ColumnSettings, TableSettings
from paimon_spark.format.rules.supported import check_call, check_readable, check_writable
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField

OFFICIAL = [line.split() for line in Path(__file__).with_name("official_options.txt").read_text().splitlines()[2:]]
PACKAGE = Path(paimon_spark.__file__).parent
SCHEMA = TableSchema(0, (DataField(0, "id", INT.with_nullable(False)), DataField(1, "Name", STRING)), 1)

ICEBERG = [  # IcebergOptions
    "storage", "storage-location", "format-version", "compaction.min.file-num", "compaction.max.file-num",
    "previous-versions-max", "delete-after-commit.enabled", "manifest-compression", "manifest-legacy-version",
    "uri", "hive-conf-dir", "hadoop-conf-dir", "hive-client-class", "database", "table", "hive-skip-update-stats",
    "glue.skip-archive",
]  # fmt: skip
# Keys that no constant of the three classes holds, and where they come from.
ELSEWHERE = {
    "blob-descriptor.source-table",  # CoreOptions, made of two words
    *(f"btree-index.{name}" for name in ("block-size", "compression", "fallback-scan-max-size")),  # BTreeIndexOptions
    *(f"bitmap-index.{name}" for name in ("dictionary-block-size", "compression", "fallback-scan-max-size")),
    "sorted-index.records-per-range",  # SortedIndexOptions
    "branch-merge.enabled",  # the documentation of merge_branch
    "log.system.auto-register",  # Kafka's options, 0.2 to 0.7
    *(f"metadata.iceberg.{name}" for name in ICEBERG),
    "orc.timestamp-ltz.legacy.type",  # OrcOptions
    "scan.plan-parallelism",  # an older name of scan.manifest.parallelism
}
# Values beside those of a switch that an option has, which this release does not accept.
VALUES = {
    "type": ["format-table", "object-table", "view", "iceberg-table", "lance-table"],
    "file.format": ["csv", "json", "text", "lance", "mosaic", "vortex"],
    "changelog-file.format": ["csv"],
    "batch-scan-mode": ["compact"],
    "stream-scan-mode": ["compact-bucket-table", "file-monitor"],
    "metadata.iceberg.storage": ["rest-catalog"],
    "manifest.format": ["orc"],
    "metastore.tag-to-partition.preview": ["process-time", "watermark", "batch"],
    "sequence.auto-padding": ["row-kind-flag", "second-to-micro"],
    "write-mode": ["append-only", "change-log"],
}


def test_the_list_of_official_options_is_whole() -> None:
    newest = [key for cls, key, _, last in OFFICIAL if last in ("2.0.0", "HEAD") and cls == "Core"]
    assert len(OFFICIAL) > 450
    assert len(newest) > 332  # which the release has; keys of HEAD and older names are among these
    assert len({key for _, key, _, _ in OFFICIAL}) == len(OFFICIAL)


def test_every_official_option_is_in_the_catalogue() -> None:
    """A new one fails here until somebody has said what becomes of it."""
    assert [key for _, key, _, _ in OFFICIAL if known_key(key) != key or catalogued(key) is None] == []


def test_every_option_of_the_catalogue_is_official() -> None:
    official = {key for _, key, _, _ in OFFICIAL} | ELSEWHERE
    assert {key for key in CATALOGUE if "<" not in key} - official == set()


REFUSALS = [(key, refused) for key, entry in CATALOGUE.items() for refused in entry.refusals]


def test_every_option_is_declared_once() -> None:
    keys = [key for idle in NO_EFFECT for key in (*idle.keys.split(), *idle.asked)]
    assert {key: n for key, n in Counter(keys).items() if n > 1} == {}
    groups = [found.settings for found in vars(TableSettings).values() if is_group(found)]
    declared = [option.key for group in (TableSettings, ColumnSettings, *groups) for option in group.declared()]
    assert len(declared) == len(set(declared)) == len(TABLE_OPTIONS) > 190
    assert {entry.key for entry in CATALOGUE.values() if entry.status is Status.HONOURED} == set(declared)
    assert set(declared).isdisjoint(keys)
    assert {key for key, entry in CATALOGUE.items() if entry.status is Status.NO_EFFECT} == set(keys)
    assert all((entry.reason is not None) is (entry.status is Status.NO_EFFECT) for entry in CATALOGUE.values())
    # What is only refused in a call is said to be without effect where it is stored, and why.
    alone = {key for key, entry in CATALOGUE.items() if entry.status is Status.REFUSED}
    assert {key for key, refused in REFUSALS if refused.moment is Moment.CALL} & alone == set()


def is_group(found: object) -> bool:
    return type(found).__name__ == "_Group"


@cache
def parsed_modules() -> dict[Path, ast.Module]:
    """The modules of the package but those that declare options, parsed."""
    files = (f for f in PACKAGE.rglob("*.py") if f.parent != PACKAGE / "format" / "options")
    return {file.relative_to(PACKAGE): ast.parse(file.read_text("utf-8")) for file in files}


def attributes_of_the_code() -> set[str]:
    return {
        node.attr for tree in parsed_modules().values() for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }


def test_what_is_called_honoured_is_read_somewhere() -> None:
    """As an attribute of settings; a few by their key, where they are looked up in the texts of a call or a schema."""
    text = "\n".join((PACKAGE / file).read_text("utf-8") for file in parsed_modules())
    by_key = {
        "path",
        "sequence_group",
        "index_columns",
        "index_option",
        "merge_schema",
        "type_widening",
        "explicit_cast",
    }
    names = {option.name: option for option in TABLE_OPTIONS.values()}
    assert names.keys() - attributes_of_the_code() <= by_key
    texts = ['"path"', ".sequence-group", "file-index\\.", "write.merge-schema", ".type-widening", ".explicit-cast"]
    assert [part for part in texts if part not in text] == []


def test_options_are_read_through_settings_alone() -> None:
    """No module parses the text of an option by itself: what makes values of texts is called in declarations."""
    declaring = {  # connector options, which no table has
        Path("spark/stream_sink/options.py"),
        Path("store/stream_source/settings.py"),
        Path("writes/options.py"),
    }
    found = set()
    for file, tree in parsed_modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Option":
                found.add(file)
    assert found == declaring


def cases() -> Iterator[tuple[str, Refused, str]]:
    for key, refusal in REFUSALS:
        switched = {("false",): ["true", "TRUE"], ("true",): ["false"]}.get(refusal.accepted, ["x"])
        for value in VALUES.get(key, switched):
            yield key, refusal, value


@pytest.mark.parametrize(("key", "refusal", "value"), [pytest.param(*c, id=f"{c[0]}={c[2]}") for c in cases()])
def test_every_value_that_asks_for_something_is_refused_by_name(key: str, refusal: Refused, value: str) -> None:
    key = key.replace("<column>", "Name").replace("<type>", "bitmap").replace("<x>", "version")
    settings = TableSettings({"bucket": "-1", key: value})
    if refusal.moment is Moment.CALL:
        with pytest.raises(OptionError, match=f"'{re.escape(key)}' = '{value}' would do nothing in this call"):
            check_call(settings)
    else:
        with pytest.raises(UnsupportedFeature, match=f"'{re.escape(key)}' is '{value}'"):
            check_writable(SCHEMA, settings)
    if refusal.moment is Moment.READ:
        with pytest.raises(UnsupportedFeature, match=f"'{re.escape(key)}' is '{value}'"):
            check_readable(SCHEMA, settings)
    else:
        check_readable(SCHEMA, settings)
    for accepted in refusal.accepted:
        quiet = TableSettings({key: accepted.upper()})
        check_call(quiet)
        check_writable(SCHEMA, quiet)


def test_what_is_without_effect_may_be_stored() -> None:
    refused = {key for key, refusal in REFUSALS if refusal.moment is not Moment.CALL}
    idle = [key for key, entry in CATALOGUE.items() if entry.status is Status.NO_EFFECT]
    assert refused.isdisjoint(idle)
    named = [re.sub("#|<(x|type|any)>", "y", key.replace("<column>", "Name")) for key in idle]
    check_writable(SCHEMA, TableSettings(dict.fromkeys(named, "x")))
