"""Commands that run a procedure take the options, the help and the defaults of its declaration."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, get_args, get_origin

import pytest
import typer

from paimon_spark.cli.command_list import COMMANDS
from paimon_spark.cli.declared import Shown, takes
from paimon_spark.cli.program import _Later
from paimon_spark.procedures.branches import CreateBranch, DeleteBranch, FastForward
from paimon_spark.procedures.orphan_files import RemoveOrphanFiles
from paimon_spark.procedures.partitions import ExpirePartitions
from paimon_spark.procedures.procedure import Procedure, arguments_of, sentence
from paimon_spark.procedures.rewrites import Compact, Copy
from paimon_spark.procedures.row_removal import PurgeFiles
from paimon_spark.procedures.snapshots import ExpireSnapshots
from paimon_spark.procedures.tags import CreateTag, DeleteTag, ExpireTags

TAKEN: dict[str, tuple[type[Procedure[Any]], dict[str, str]]] = {
    "compact": (Compact, {"where": "--where", "full": "--full"}),
    "copy": (Copy, {"target": "TARGET", "where": "--where"}),
    "create-branch": (CreateBranch, {"name": "NAME"}),
    "create-tag": (CreateTag, {"name": "NAME", "time_retained": "--time-retained"}),
    "delete-branch": (DeleteBranch, {"names": "NAME"}),
    "delete-tag": (DeleteTag, {"names": "NAME"}),
    "expire": (
        ExpireSnapshots,
        {
            "retain_max": "--retain-max",
            "retain_min": "--retain-min",
            "older_than": "--older-than",
            "max_deletes": "--max-deletes",
        },
    ),
    "expire-partitions": (ExpirePartitions, {"expiration_time": "--older-than"}),
    "expire-tags": (ExpireTags, {"older_than": "--older-than"}),
    "fast-forward": (FastForward, {"branch": "NAME"}),
    "orphans": (RemoveOrphanFiles, {"older_than": "--older-than"}),
    "purge": (PurgeFiles, {"orphans_older_than": "--orphans-older-than"}),
}


@pytest.mark.parametrize("name", TAKEN)
def test_the_options_of_a_command_are_those_of_its_procedure(name: str) -> None:
    procedure, flags = TAKEN[name]
    parameters = {p.name: p for p in _Later(name, COMMANDS[name]).loaded().params}
    for argument, flag in flags.items():
        found, declared = parameters[argument], arguments_of(procedure)[argument]
        assert flag in ((found.metavar or "").strip("{}"), *found.opts)
        assert found.required == declared.is_required
        assert found.required or found.default == declared.default
        assert found.help.startswith(sentence(declared).partition(" retain_max")[0])


def test_other_arguments_are_called_by_their_flags() -> None:
    parameters = {p.name: p for p in _Later("expire", COMMANDS["expire"]).loaded().params}
    assert (
        "but for --retain-max. A time such as '2026-11-01 12:30' (see --time-zone), or an age"
        in parameters["older_than"].help
    )


def test_a_command_gets_the_procedure() -> None:
    seen: list[object] = []

    @takes(ExpireSnapshots, "retain_max", max_deletes=Shown("--most", metavar="M"))
    def command(path: str, call: ExpireSnapshots, yes: bool = False) -> None:
        """Words."""
        seen.append((path, call, yes))

    assert list(inspect.signature(command).parameters) == ["path", "retain_max", "max_deletes", "yes"]
    assert command.__doc__ == "Words."
    annotation = inspect.signature(command).parameters["max_deletes"].annotation
    assert get_origin(annotation) is Annotated
    option = get_args(annotation)[1]
    assert isinstance(option, typer.models.OptionInfo)
    assert (option.default, option.metavar, option.min) == ("--most", "M", 0)
    command(path="t", retain_max=3, max_deletes=None, yes=True)
    assert seen == [("t", ExpireSnapshots(retain_max=3), True)]
