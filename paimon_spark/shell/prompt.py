"""The shell: reads statements from a terminal, with history and completion, and runs them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, ThreadedCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from paimon_spark.cli.messages import say
from paimon_spark.cli.texts import printable
from paimon_spark.errors import PaimonError
from paimon_spark.shell.completion import KnownNames, suggest
from paimon_spark.shell.results import Results
from paimon_spark.shell.script import run_one, stop_text
from paimon_spark.spark.console.statement_thread import StatementThread, Stopped
from paimon_spark.sql.text.script import is_complete, split_script

_LEAVE = ("quit", "exit")
_WORDS = (*_LEAVE, "help", "history")
_HELP = """\
A statement ends with a semicolon; Enter before it begins a new line. With \\G it shows each row as lines.
Tab       completes keywords, names of databases, tables and columns, and procedures behind CALL
Up, Down  go through the history, which the word history prints; Ctrl-R searches in it
Ctrl-C    clears the line, or stops the statement that runs
Ctrl-D    ends the shell, as quit and exit do
Examples: SHOW TABLES; DESCRIBE t; SELECT * FROM t$snapshots; CALL sys.compact(table => 'default.t');"""


class Shell:
    """Runs what is typed until the user leaves.

    Attributes:
        session: what reads the keys.
    """

    def __init__(
        self, thread: StatementThread, results: Results, args: Mapping[str, str], history: History | None = None
    ) -> None:
        """history: of the lines that were typed; None: one in a file of the user."""
        self._thread = thread
        self._results = results
        self._args = args
        self._names = KnownNames(thread.catalog)
        self.session: PromptSession[str] = PromptSession(
            self._prompt,
            history=file_history() if history is None else history,
            completer=ThreadedCompleter(SqlCompleter(self._names, thread)),
            complete_while_typing=False,
            key_bindings=_keys(),
            multiline=True,
            prompt_continuation=lambda width, line, wrapped: "-> ".rjust(width),
        )

    def run(self) -> None:
        """Reads and runs statements until the user leaves."""
        say("paimon-spark sql: statements end with ;  help tells more, Ctrl-D leaves")
        while True:
            try:
                text = self.session.prompt()
            except KeyboardInterrupt:  # the line is cleared
                continue
            except EOFError:
                return
            word = _command_of(text)
            if word in _LEAVE:
                return
            if word == "help":
                print(_HELP)
            elif word == "history":
                print("\n".join(map(printable, self.session.history.get_strings()[:-1])))  # without this word itself
            else:
                self._run(text)

    def _run(self, text: str) -> None:
        """Runs statements, and tells of the first that fails."""
        try:
            with _ctrl_c_interrupts():
                for statement in split_script(text):
                    run_one(self._thread, statement, self._results, self._args)
        except PaimonError as error:
            say(" ".join(str(error).split()))
        except Stopped as stopped:
            say(stop_text(stopped))
        except KeyboardInterrupt:  # while rows are printed
            say("stopped")
        except Exception as error:  # a fault of this program, which must not end the user's session
            say(f"internal error, please report it: {type(error).__name__}: {error}")
        finally:
            self._names.forget()

    def _prompt(self) -> str:
        return f"{self._thread.catalog.name}.{self._thread.database}> "


class SqlCompleter(Completer):
    """Completes names at the cursor."""

    def __init__(self, names: KnownNames, thread: StatementThread) -> None:
        self._names = names
        self._thread = thread

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        database = self._thread.database or self._thread.catalog.default_database
        for found in suggest(document.text_before_cursor, document.text_after_cursor, self._names, database):
            yield Completion(found.text, start_position=-found.replaces, display_meta=found.kind)


def file_history(folder: Path | None = None) -> History:
    """The history in a file that only the user can read. Without one it lasts as long as the shell.

    Args:
        folder: None: that of this program among the user's settings.
    """
    path = (Path(typer.get_app_dir("paimon-spark")) if folder is None else folder) / "sql_history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        if not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(13, "it cannot be read and written")
    except OSError as error:
        say(f"the history of this shell is not kept: {path}: {error.strerror}")
        return InMemoryHistory()
    return FileHistory(str(path))


def _command_of(text: str) -> str:
    """A word that the shell itself understands, which needs no semicolon."""
    return text.strip().removesuffix(";").strip().lower()


def _keys() -> KeyBindings:
    """Enter ends the input if it is complete; else it begins a new line."""
    keys = KeyBindings()

    @Condition
    def is_whole() -> bool:
        text = get_app().current_buffer.text
        return _command_of(text) in _WORDS or is_complete(text)

    @keys.add("enter", filter=is_whole)
    def accept(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys


@contextmanager
def _ctrl_c_interrupts() -> Iterator[None]:
    """Lets Ctrl-C raise KeyboardInterrupt, each time; the program itself ends at the first one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
