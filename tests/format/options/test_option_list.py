"""The catalogue of options holds every option of the official system, once, and is true of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support.draws.format_values import INT, STRING

import paimon_spark
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options import core_options as o
from paimon_spark.format.options.core_options import Option, Options
from paimon_spark.format.options.entries import CATALOGUE, HONOURED, NO_EFFECT, REFUSALS, Moment, Refusal, Status
from paimon_spark.format.options.keys import catalogued, known_key
from paimon_spark.format.rules.supported import check_call, check_readable, check_writable
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField

OFFICIAL = [line.split() for line in Path(__file__).with_name("official_options.txt").read_text().splitlines()[2:]]
PACKAGE = Path(paimon_spark.__file__).parent
SCHEMA = TableSchema(0, (DataField(0, "id", INT.with_nullable(False)), DataField(1, "Name", STRING)), 1)

# Keys that no constant of the three classes holds, and where they come from.
ELSEWHERE = {
    "blob-descriptor.source-table",  # CoreOptions, made of two words
    "branch-merge.enabled",  # the documentation of merge_branch
    "log.system.auto-register",  # Kafka's options, 0.2 to 0.7
    "metadata.iceberg.storage",  # IcebergOptions
    "orc.timestamp-ltz.legacy.type",  # OrcOptions
    "scan.plan-parallelism",  # an older name of scan.manifest.parallelism
}
# Values beside those of a switch that an option has, which this release does not accept.
VALUES = {
    "type": ["format-table", "object-table", "materialized-table", "view", "iceberg-table", "lance-table"],
    "file.format": ["csv", "json", "text", "row", "lance", "mosaic", "vortex"],
    "changelog-file.format": ["csv", "row"],
    "batch-scan-mode": ["compact"],
    "stream-scan-mode": ["compact-bucket-table", "file-monitor"],
    "fields.<column>.map.storage-layout": ["shared-shredding"],
    "data-file.external-paths.strategy": ["round-robin", "specific-fs", "entropy-inject", "weight-robin"],
    "write.sequence-number-init-mode": ["snapshot"],
    "metadata.iceberg.storage": ["table-location", "hadoop-catalog", "hive-catalog", "rest-catalog"],
    "manifest.format": ["orc"],
    "metastore.tag-to-partition.preview": ["process-time", "watermark", "batch"],
    "sequence.auto-padding": ["row-kind-flag", "second-to-micro"],
    "write-mode": ["append-only", "change-log"],
}


READABLE_WITH = {"pk-clustering-override": {"deletion-vectors.enabled": "true"}}


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


def test_every_option_is_in_one_group() -> None:
    keys = [*HONOURED.split(), *(key for idle in NO_EFFECT for key in idle.keys.split())]
    assert {key: n for key, n in Counter(keys).items() if n > 1} == {}
    alone = {refusal.key for refusal in REFUSALS} - set(keys)
    assert {key for key, entry in CATALOGUE.items() if entry.status is Status.REFUSED} == alone
    assert set(CATALOGUE) == {*keys, *alone}
    assert all((entry.reason is not None) is (entry.status is Status.NO_EFFECT) for entry in CATALOGUE.values())
    # What is only refused in a call is said to be without effect where it is stored, and why.
    assert {r.key for r in REFUSALS if r.moment is Moment.CALL} & alone == set()


@cache
def words_of_the_code() -> tuple[frozenset[str], frozenset[str]]:
    """(the names of constants, the texts) in the package, but for the modules that declare options."""
    files = (f for f in PACKAGE.rglob("*.py") if not (f.parent.name == "spec" and f.name.startswith("option")))
    text = "\n".join(f.read_text("utf-8") for f in files)
    return frozenset(re.findall(r"\b[A-Z][A-Z0-9_]+\b", text)), frozenset(re.findall(r"[\"']([^\"'\n]+)[\"']", text))


def test_what_is_called_honoured_is_read_somewhere() -> None:
    names, texts = words_of_the_code()
    typed = {option.key: name for name, option in vars(o).items() if isinstance(option, Option)}
    unread = set()
    for key in HONOURED.split():
        if key in typed:
            read = typed[key] in names
        elif key.startswith("fields.<column>"):
            suffix = key.removeprefix("fields.<column>.")
            read = any(text.removeprefix(".") == suffix or text.endswith(f"}}.{suffix}") for text in texts)
        else:
            read = key in texts
        if not read:
            unread.add(key)
    assert unread == set()


def test_no_typed_option_is_called_idle_or_is_left_unread() -> None:
    names, _ = words_of_the_code()
    typed = {name: option for name, option in vars(o).items() if isinstance(option, Option)}
    assert len(typed) > 150
    assert {option.key for option in typed.values() if CATALOGUE[option.key].status is not Status.HONOURED} == set()
    assert typed.keys() - names == set()


def cases() -> Iterator[tuple[Refusal, str]]:
    for refusal in REFUSALS:
        switched = {("false",): ["true", "TRUE"], ("true",): ["false"]}.get(refusal.accepted, ["x"])
        for value in VALUES.get(refusal.key, switched):
            yield refusal, value


@pytest.mark.parametrize(("refusal", "value"), [pytest.param(r, v, id=f"{r.key}={v}") for r, v in cases()])
def test_every_value_that_asks_for_something_is_refused_by_name(refusal: Refusal, value: str) -> None:
    key = refusal.key.replace("<column>", "Name").replace("<type>", "bitmap").replace("<x>", "version")
    options = Options({"bucket": "-1", key: value, **READABLE_WITH.get(key, {})})
    if refusal.moment is Moment.CALL:
        with pytest.raises(OptionError, match=f"'{re.escape(key)}' = '{value}' would do nothing in this call"):
            check_call(options)
    else:
        with pytest.raises(UnsupportedFeature, match=f"'{re.escape(key)}' is '{value}'"):
            check_writable(SCHEMA, options)
    if refusal.moment is Moment.READ:
        with pytest.raises(UnsupportedFeature, match=f"'{re.escape(key)}' is '{value}'"):
            check_readable(SCHEMA, options)
    else:
        check_readable(SCHEMA, options)
    for accepted in refusal.accepted:
        quiet = Options({key: accepted.upper()})
        check_call(quiet)
        check_writable(SCHEMA, quiet)


def test_what_is_without_effect_may_be_stored() -> None:
    refused = {refusal.key for refusal in REFUSALS if refusal.moment is not Moment.CALL}
    idle = [key for key, entry in CATALOGUE.items() if entry.status is Status.NO_EFFECT]
    assert refused.isdisjoint(idle)
    named = [re.sub("#|<(x|type|any)>", "y", key.replace("<column>", "Name")) for key in idle]
    check_writable(SCHEMA, Options(dict.fromkeys(named, "x")))
