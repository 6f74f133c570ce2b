"""Each of the 42 official procedures takes in SQL what it officially takes, or is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from support.official_procedures import OfficialArgument, official_procedures

from paimon_spark.errors import OptionError
from paimon_spark.procedures.call.bind import Call, DatabaseCall, bind
from paimon_spark.procedures.catalogue import DATABASE_PROCEDURES, PROCEDURES
from paimon_spark.procedures.procedure import Declaration, Kind, arguments_of, common_arguments

OFFICIAL = official_procedures()
OURS: dict[str, type[Declaration]] = {**PROCEDURES, **DATABASE_PROCEDURES}
DONE = sorted(OFFICIAL.keys() & OURS.keys())


ABSENT = {
    "compact": {"buckets"},
    "compact_manifest": {
        "manifest_sort_enabled", "manifest_sort_partition_field", "manifest_sort_max_rewrite_size",
    },
    "migrate_database": {"parallelism"},
    "migrate_table": {"parallelism"},
    "remove_orphan_files": {"parallelism"},
    "remove_unexisting_files": {"parallelism"},
}  # fmt: skip
"""Arguments that this release refuses by name."""

OPTIONAL_HERE = {("repair_earliest_snapshot", "snapshot_id")}
REQUIRED_HERE = {("create_tag_from_timestamp", "timestamp")}  # the official procedure fails without it

WORDS = {
    "options": "a=b",
    "mode": "local",
    "compact_strategy": "full",
    "partition_idle_time": "1 d",
    "ignoreIfExists": "true",
}
"""Texts where not every text fits."""
SAMPLES: dict[str, object] = {"S": "some text", "L": 1 << 40, "I": 7, "B": True, "MAP<S,S>": {"a": "b"}}
OTHERS: dict[str, object] = {"S": 1.5, "L": "text", "I": "7", "B": 7, "MAP<S,S>": 7}
"""Values of another type than the official one."""


def sample(argument: OfficialArgument) -> object:
    return WORDS.get(argument.name, SAMPLES[argument.type])


def arguments() -> list[tuple[str, OfficialArgument]]:
    return [(name, argument) for name in DONE for argument in OFFICIAL[name].arguments]


def named(*pairs: tuple[str, OfficialArgument]) -> Any:
    return pytest.mark.parametrize(
        ("name", "argument"), [pytest.param(*pair, id=f"{pair[0]}-{pair[1].name}") for pair in pairs]
    )


def required_of(name: str) -> dict[str, object]:
    """What a call cannot do without, here or in the official system."""
    chosen = [x for x in OFFICIAL[name].arguments if x.required or (name, x.name) in REQUIRED_HERE]
    return {x.name: sample(x) for x in chosen}


def test_every_official_procedure_is_done() -> None:
    assert len(OFFICIAL) == 42
    assert {name for name, procedure in OURS.items() if procedure.official} == OFFICIAL.keys()


@pytest.mark.parametrize("name", DONE)
def test_names_and_their_order(name: str) -> None:
    official = [argument.name for argument in OFFICIAL[name].arguments]
    assert list(OURS[name].official) == official
    known = {declared.sql for declared in arguments_of(OURS[name]).values()} | {*common_arguments(OURS[name])}
    assert set(official) - known == ABSENT.get(name, set()) == OURS[name].absent.keys()


@named(*arguments())
def test_what_is_required(name: str, argument: OfficialArgument) -> None:
    given = {key: value for key, value in required_of(name).items() if key != argument.name}
    wanted = (argument.required and (name, argument.name) not in OPTIONAL_HERE) or (
        (name, argument.name) in REQUIRED_HERE
    )
    if wanted:
        with pytest.raises(OptionError, match=f"the procedure {name} needs '{argument.name}'"):
            bind(name, (), given)
    else:
        assert isinstance(bind(name, (), given), Call | DatabaseCall)


@named(*arguments())
def test_values_of_the_official_type(name: str, argument: OfficialArgument) -> None:
    """One that is not in this release takes NULL alone, or what is done anyway; of a parallelism any number."""
    given = {**required_of(name), argument.name: sample(argument)}
    if argument.name in ABSENT.get(name, ()) and argument.name != "parallelism":
        with pytest.raises(OptionError, match=f"does not have the argument '{argument.name}' in this release: "):
            bind(name, (), given)
        given[argument.name] = None
    assert isinstance(bind(name, (), given), Call | DatabaseCall)


@named(*((name, argument) for name, argument in arguments() if argument.name not in ABSENT.get(name, ())))
def test_values_of_other_types(name: str, argument: OfficialArgument) -> None:
    """Times may also be text where the official system wants epoch milliseconds."""
    fields = {declared.sql: declared for declared in arguments_of(OURS[name]).values()}
    is_time = argument.name in fields and fields[argument.name].kind is Kind.MOMENT
    other = OTHERS["S"] if is_time else OTHERS[argument.type]
    with pytest.raises(OptionError, match=rf"the procedure {name} wants .* for '{argument.name}', found "):
        bind(name, (), {**required_of(name), argument.name: other})


@named(
    *((name, argument) for name, argument in arguments() if argument.default is not None and argument.name != "mode")
)
def test_official_defaults(name: str, argument: OfficialArgument) -> None:
    """The default of the mode is ours: what is done by tasks of Spark is decided by how much there is."""
    given = {**required_of(name), argument.name: argument.default}
    assert bind(name, (), given) == bind(name, (), required_of(name))
