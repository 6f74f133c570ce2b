"""The program: its commands, and how it ends.

Each command lives in a module of its own, with others of its kind, and is imported when it is asked for: the list of
commands, and a shell that completes their names, do not wait for Arrow.

Exit codes: 0 done; 1 a check found problems, or the user said no; 2 an error; 130 stopped by Ctrl-C; 141 nobody reads
the output any more.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from difflib import get_close_matches
from importlib import import_module, metadata
from platform import python_version
from types import FrameType
from typing import Annotated, Any, Final, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

from paimon_spark import __version__
from paimon_spark.cli.arguments import zone_option
from paimon_spark.cli.command_list import COMMANDS, OTHER_NAMES, OTHER_OPTIONS, STATE_ARGUMENT, STATE_OPTIONS, Place
from paimon_spark.cli.messages import STOPPED, OutputFailed, in_flags, say
from paimon_spark.errors import PaimonError, ResourcesExhausted, StorageError, wrong_in_utf8

NAME = "paimon-spark"
FAILED, NOT_READ = 2, 141
_LONG_WORD = re.compile(r"(\S{500})\S{500,}")  # what was given and is repeated in the message, such as a name
_REPORTED_VERSIONS = ("pyspark", "pyarrow")  # which a report of a bug needs


class _Command(TyperCommand):
    """A command whose help shows no type beside a flag, which takes no value."""

    def get_params(self, ctx: Any) -> Any:
        return _without_types_of_flags(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        options: list[Any] = [each for each in dict.fromkeys(given) if each.param_type_name == "option"]
        for option in options:
            if given.count(option) > 1 and not (option.multiple or option.is_flag):
                flag, found = option.opts[0], f"it is given {given.count(option)} times, and only one is taken"
                once = f"give it once, as {flag} {option.metavar or 'VALUE'}"
                raise typer.BadParameter(f"{found}: {once}", param_hint=f"'{flag}'")
        return super().parse_args(ctx, args)


class _Later(TyperCommand):
    """A command that is imported when it is run, or asked for its own help."""

    def __init__(self, name: str, place: Place) -> None:
        super().__init__(name, help=place.help, rich_help_panel=place.panel)
        self._place = place

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        try:
            return self.loaded().make_context(info_name, args, parent, **extra)
        except Exception as error:
            asked = getattr(error, "option_name", "") or ""
            advice = STATE_ARGUMENT if asked in STATE_OPTIONS and self._has_state() else OTHER_OPTIONS.get(asked)
            if type(error).__name__ == "NoSuchOption" and advice:
                error.message = f"{error.message}. {advice}"  # type: ignore[attr-defined]
            raise

    def _has_state(self) -> bool:
        """True if a snapshot, a tag or a time is an argument of the command."""
        return any(each.param_type_name == "argument" and each.metavar == "STATE" for each in self.loaded().params)

    def loaded(self) -> Any:
        module = import_module(self._place.module)
        for registered in module.app.registered_commands:
            registered.cls = _Command
        found: Any = typer.main.get_command(module.app)
        command = found.commands[str(self.name)] if isinstance(found, TyperGroup) else found
        paragraphs = (command.help or "").split("\n\n")
        command.params.append(zone_option())
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)  # typer keeps line breaks
        return command


class Commands(TyperGroup):
    """The commands by name; what they raise becomes one sentence and an exit code."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: _Later(name, place) for name, place in COMMANDS.items()}

    def get_params(self, ctx: Any) -> Any:
        return _without_types_of_flags(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        for each in args:
            if wrong := wrong_in_utf8(each):
                say(f"{NAME}: the argument {each!r:.60} {wrong}; write it in UTF-8")
                raise typer.Exit(FAILED)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            near = get_close_matches(args[0].replace("_", "-"), [*OTHER_NAMES, *self.commands], 1) if args else []
            advice = OTHER_NAMES.get(near[0]) if near else None
            if type(error).__name__ == "UsageError" and advice:
                error.message = f"No such command '{args[0]}'. {advice}"  # type: ignore[attr-defined]
            raise

    def invoke(self, ctx: Any) -> Any:
        _take_ctrl_c_once()
        try:
            result = copy_context().run(super().invoke, ctx)  # the zone of a call ends with it
            sys.stdout.flush()
        except BrokenPipeError:
            raise _unread() from None
        except PaimonError as error:
            command: Any = self.commands[ctx.invoked_subcommand]
            raise _failed(ctx, in_flags(error, command.loaded().params)) from None
        except OutputFailed as error:
            write_no_more()
            raise _failed(ctx, str(error)) from None
        except MemoryError as error:
            raise _failed(ctx, str(ResourcesExhausted.of("running the command", error))) from None
        except OSError as error:  # not of a table, whose faults have names: of what the command draws
            if error.errno == errno.EPIPE:
                raise _unread() from None
            raise _failed(ctx, str(StorageError.of("writing", str(error.filename or "the output"), error))) from None
        except KeyboardInterrupt:
            say(f"{NAME} {ctx.invoked_subcommand}: stopped; nothing was changed")
            raise typer.Exit(STOPPED) from None
        return result


def _failed(ctx: Any, sentence: str) -> typer.Exit:
    text = _LONG_WORD.sub(r"\1…", " ".join(sentence.split()))
    say(f"{NAME} {ctx.invoked_subcommand}: {text}")
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


def _without_types_of_flags(parameters: Any) -> Any:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def _unread() -> typer.Exit:
    write_no_more()
    return typer.Exit(NOT_READ)


def write_no_more() -> None:
    """The output goes nowhere from here on, so that the end of Python does not complain about it either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app: Final = typer.Typer(
    cls=Commands,
    name=NAME,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        others = [f"Python {python_version()}", *(f"{name} {_version_of(name)}" for name in _REPORTED_VERSIONS)]
        print(f"{NAME} {__version__} ({', '.join(others)})")
        raise typer.Exit


def _version_of(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Tell the version, and that of others."),
    ] = False,
) -> None:
    """Apache Paimon tables from a shell. Only `sql` starts Spark."""


def main() -> None:
    """Runs the program with the arguments of this process, and ends it."""
    guard_streams()
    if os.environ.get("COLUMNS", "").strip("0") == "":  # a width of 0 shows nothing: some shells set it so
        os.environ.pop("COLUMNS", None)
    try:
        try:
            app(prog_name=NAME)
        finally:
            sys.stdout.flush()
    except OutputFailed as error:  # help or version; commands tell of it themselves
        write_no_more()
        say(f"{NAME}: {error}")
        sys.exit(FAILED)


class Stdout:
    """A stream whose own errors are distinct from those of the storage; a reader that went away stays an EPIPE."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _as_output():
            return self._stream.write(text)

    def flush(self) -> None:
        with _as_output():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard_streams() -> None:
    """Lets the program run with closed streams, and tell what is wrong with its output: also that it is closed."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115 - until the process ends
    if sys.stdout is None:  # a descriptor that takes no writes: rows that nobody gets are not a success
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
    sys.stdout = Stdout(sys.stdout)


@contextmanager
def _as_output() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(f"the output could not be written: {error.strerror}") from None
    except UnicodeEncodeError as error:
        text = error.object[error.start : error.end]
        raise OutputFailed(
            f"the output could not be written: its encoding {error.encoding} does not have {text!a:.40}; set the "
            "environment variable PYTHONIOENCODING=utf-8"
        ) from None
