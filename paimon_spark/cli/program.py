"""The program: its commands, and how it ends.

Each command lives in a module of its own, with others of its kind, and is imported when it is asked for: the list of
commands, and a shell that completes their names, do not wait for Arrow.

Exit codes: 0 done; 1 a check found problems, or the user said no; 2 an error; 130 stopped by Ctrl-C; 141 nobody reads
the output any more.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from dataclasses import dataclass
from importlib import import_module
from types import FrameType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from paimon_spark.cli.messages import STOPPED, say
from paimon_spark.errors import PaimonError, StorageError

NAME = "paimon-spark"
FAILED, NOT_READ = 2, 141


@dataclass(frozen=True)
class Place:
    """Where a command is, and what the list of commands says of it: the first line of its own help."""

    module: str
    help: str


COMMANDS = {
    "info": Place("info", "All that matters of a table on one screen; --plot draws it."),
    "snapshots": Place("listings", "The snapshots, oldest first."),
    "files": Place("listings", "The data files of a state."),
    "partitions": Place("listings", "The partitions of a state."),
    "buckets": Place("listings", "The buckets of a state."),
    "tags": Place("listings", "The tags."),
    "branches": Place("listings", "The branches."),
    "schemas": Place("listings", "The schemas that the table has had."),
    "options": Place("listings", "The options that are stored in the table."),
    "consumers": Place("listings", "The consumers, and the snapshot that each reads next."),
    "read": Place("rows", "Rows of a table, or of a system table ('PATH$manifests')."),
    "diff": Place("rows", "What changed between two states: rows added, removed, changed."),
    "check": Place("checking", "Verifies that everything the metadata of a table say is true."),
    "compact": Place("compacting", "Merges the files of buckets that have too many, with processes of this machine."),
    "compact-manifest": Place("compacting", "Merges the manifests, in one snapshot."),
    "expire": Place("upkeep", "Expires old snapshots, with the files that only they need."),
    "orphans": Place("upkeep", "Files that no snapshot, tag, branch or changelog names."),
    "expire-partitions": Place("losing", "Takes partitions out of the table that are too old."),
    "remove-lost-files": Place("losing", "Takes data files out of the table that storage does not have any more."),
    "create-tag": Place("upkeep", "Keeps a snapshot under a name."),
    "delete-tag": Place("upkeep", "Deletes tags, and the files that nothing but they need."),
    "create-branch": Place("branching", "Makes a branch: a line of snapshots of its own, over the same data files."),
    "delete-branch": Place("branching", "Deletes branches; data files that only they need go with the orphans."),
    "fast-forward": Place("branching", "Gives the table what a branch has, in place of its own snapshots."),
    "copy": Place("copying", "Copies the latest state to another table, file by file."),
    "purge": Place("losing", "Empties a table for good: rows, history, tags, branches and consumers go."),
    "rollback": Place("upkeep", "Takes a table back to a snapshot, tag or time: what came later goes."),
}


class _Later(TyperCommand):
    """A command that is imported when it is run, or asked for its own help."""

    def __init__(self, name: str, place: Place) -> None:
        super().__init__(name, help=place.help)
        self._place = place

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        return self.loaded().make_context(info_name, args, parent, **extra)

    def loaded(self) -> Any:
        module = import_module(f"paimon_spark.cli.{self._place.module}")
        found: Any = typer.main.get_command(module.app)
        command = found.commands[str(self.name)] if isinstance(found, TyperGroup) else found
        paragraphs = (command.help or "").split("\n\n")
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)  # typer keeps line breaks
        return command


class Commands(TyperGroup):
    """The commands by name; what they raise becomes one sentence and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        place = COMMANDS.get(cmd_name)
        return None if place is None else _Later(cmd_name, place)

    def invoke(self, ctx: Any) -> Any:
        _take_ctrl_c_once()
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise _unread() from None
        except PaimonError as error:
            raise _failed(ctx, error) from None
        except OSError as error:  # not of a table, whose faults have names: of what the command prints or draws
            if error.errno == errno.EPIPE:
                raise _unread() from None
            raise _failed(ctx, StorageError.of("writing", str(error.filename or "the output"), error)) from None
        except KeyboardInterrupt:
            say(f"{NAME} {ctx.invoked_subcommand}: stopped; nothing was changed")
            raise typer.Exit(STOPPED) from None
        return result


app = typer.Typer(cls=Commands, name=NAME, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def _program() -> None:
    """Apache Paimon tables from a shell, without Spark."""


def main() -> None:
    """Runs the program with the arguments of this process, and ends it."""
    app(prog_name=NAME)


def _failed(ctx: Any, error: PaimonError) -> typer.Exit:
    say(f"{NAME} {ctx.invoked_subcommand}: {' '.join(str(error).split())}")
    return typer.Exit(FAILED)


def _take_ctrl_c_once() -> None:
    """The first Ctrl-C ends the work, which then cleans up: a second one must not break that off."""
    if threading.current_thread() is not threading.main_thread():
        return

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, _still_stopping)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)


def _still_stopping(number: int, frame: FrameType | None) -> None:
    say(f"{NAME}: stopping; unfinished files are being deleted")


def _unread() -> typer.Exit:
    """The output goes nowhere from here on, so that the end of Python does not complain about it either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return typer.Exit(NOT_READ)
