"""DataFrames of a table that are read when it is known what is needed of them.

A condition, columns or an order with a limit that a user adds to a DataFrame come too late for our reader, for Spark
tells a Python data source nothing of them on Spark Connect. So such a DataFrame remembers the operations that were done
on it. An action reads what they need, and has Spark do them on top.

Any other operation needs a DataFrame of Spark. Its columns have an identity: ``df.id`` is a column of ``df`` and of all
that is made of ``df``. So all DataFrames that somebody can still ask for a column are then made on one read, which is
what the first of them needs.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, cast

from pyspark.sql import Column, DataFrame, SparkSession

from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.spark.native.recorded_needs import RECORDED, Needs, Operation

_ACTIONS = frozenset({"collect", "columns", "dtypes", "explain", "first", "foreach", "foreachPartition", "head"})
_ACTIONS |= {"isEmpty", "isStreaming", "printSchema", "schema", "show", "tail", "take", "toArrow", "toLocalIterator"}
_ACTIONS |= {"toPandas", "write", "writeTo", "_repr_html_"}
"""What gives away no column and no DataFrame."""
_NO_COLUMNS = ("__", "_repr_", "_ipython_")
"""How names begin that notebooks and Python look for in any object."""
Settings: TypeAlias = tuple[str | None, Dialect]
"""The time zone of a session, and by which rules it reads conditions."""


class RecordedTable(Protocol):
    """A table of which DataFrames are made, all of one state.

    Attributes:
        spark: the session.
        frame_type: what a DataFrame of it is.
    """

    spark: SparkSession
    frame_type: type[DataFrame]

    def settings(self) -> Settings:
        """What the session says now of the meaning of conditions."""
        ...

    def needs(self, operations: Sequence[Operation], settings: Settings) -> Needs:
        """What operations need of the table; arguments as of needs_of."""
        ...

    def read(self, needs: Needs) -> DataFrame:
        """Rows and columns of the table, among them those that are needed."""
        ...

    def count(self, where: str) -> int:
        """The number of rows that fulfil a condition; "": of all rows."""
        ...


def recorded_frame(table: RecordedTable, plain: DataFrame | None = None) -> DataFrame:
    """All rows of a table as a DataFrame that is read when it is known what is needed.

    Args:
        plain: the same as Spark has it, whose errors and settings those of later operations are to be; None: Spark
            looks at them when they run, as on Spark Connect.
    """
    return _shown(_Node(table, plain=plain, settings=None if plain is None else table.settings()))


class RecordedFrame:
    """What a user has for a DataFrame: to ``isinstance`` it is one of Spark's, and it does what those do."""

    __slots__ = ("__weakref__", "_paimon_node")
    _paimon_node: _Node

    def __init__(self, node: _Node) -> None:
        object.__setattr__(self, "_paimon_node", node)

    @property  # type: ignore[misc]  # what isinstance asks
    def __class__(self) -> Any:
        return self._paimon_node.table.frame_type

    def __getattr__(self, name: str) -> Any:
        return self._paimon_node.attribute(name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._paimon_node.in_spark(), name, value)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, Column):
            return self._paimon_node.done("filter", item)
        if isinstance(item, list | tuple):
            return self._paimon_node.done("select", *item)
        return self._paimon_node.in_spark()[item]

    def __dir__(self) -> list[str]:
        return dir(self._paimon_node.for_action())

    def __repr__(self) -> str:
        return repr(self._paimon_node.for_action())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._paimon_node.in_spark().__reduce_ex__(protocol)


class _Node:
    """A DataFrame of a table: all of its rows, or an operation on another one.

    Attributes:
        table: the table.
        shown: what the user has of it.
    """

    def __init__(
        self,
        table: RecordedTable,
        parent: _Node | None = None,
        operation: Operation | None = None,
        plain: DataFrame | None = None,
        settings: Settings | None = None,
    ) -> None:
        """
        Args:
            parent, operation: None: it has all rows of the table.
            plain: what Spark makes of it by itself; on Spark Connect it is made when it is needed.
            settings: with which Spark has read the conditions; None: it reads them when it runs, as on Spark Connect,
                or has read them with several ones.
        """
        self.table = table
        self.shown: weakref.ref[RecordedFrame] | None = None
        self._parent, self._operation = parent, operation
        self._lock: threading.RLock = threading.RLock() if parent is None else parent._lock
        self._plain, self._settings = plain, settings
        self._made: DataFrame | None = None
        self._narrow: tuple[Settings, DataFrame] | None = None
        self._children: weakref.WeakSet[_Node] = weakref.WeakSet()
        if parent is not None:
            parent._children.add(self)

    def attribute(self, name: str) -> Any:
        """An attribute of the DataFrame: a method, a property, or a column."""
        if name in RECORDED:
            return functools.update_wrapper(functools.partial(self.done, name), getattr(self.table.frame_type, name))
        if name == "count":
            return self.count
        if name == "sparkSession":
            return self.table.spark
        if name.startswith(_NO_COLUMNS) and not hasattr(self.table.frame_type, name):
            raise AttributeError(f"'DataFrame' object has no attribute '{name}'")
        return getattr(self.for_action() if name in _ACTIONS else self.in_spark(), name)

    def done(self, name: str, *args: Any, **named: Any) -> DataFrame:
        """The DataFrame that an operation makes of this one."""
        operation = Operation(name, args, named)
        with self._lock:
            if self._is_in_spark() or not operation.is_recorded():
                return operation.of(self.in_spark())
            if self._plain is None:
                return _shown(_Node(self.table, self, operation))
            settings = self.table.settings()
            plain = operation.of(self._plain)
            return _shown(_Node(self.table, self, operation, plain, settings if settings == self._settings else None))

    def count(self) -> int:
        """The number of rows."""
        where = None
        with self._lock:
            if not self._is_in_spark():
                settings = self.table.settings()
                if self._plain is None or settings == self._settings:
                    where = self.table.needs(self._operations(), settings).counted
        return self.for_action().count() if where is None else self.table.count(where)

    def for_action(self) -> DataFrame:
        """A DataFrame of Spark with these rows; its columns must be those of no other."""
        with self._lock:
            if self._is_in_spark():
                return self.in_spark()
            settings = self.table.settings()
            if self._plain is not None and (self._parent is None or settings != self._settings):
                return self._plain
            if self._narrow is None or self._narrow[0] != settings:
                self._narrow = settings, self._read(settings)
            return self._narrow[1]

    def in_spark(self) -> DataFrame:
        """The DataFrame of Spark for this one: it, and all that are made of it, have its columns."""
        with self._lock:
            if self._made is None:
                lineage = self._lineage()
                done = [at for at, node in enumerate(lineage) if node._made is not None]
                first = done[-1] if done else next(at for at, node in enumerate(lineage) if node._can_be_asked(self))
                if not done:
                    lineage[first]._made = lineage[first]._first_in_spark()
                for node in lineage[first + 1 :]:
                    parent = node._parent
                    assert parent is not None
                    assert parent._made is not None
                    assert node._operation is not None
                    is_plain = node._plain is not None and parent._made is parent._plain
                    node._made = node._plain if is_plain else node._operation.of(parent._made)
            assert self._made is not None
            return self._made

    def _first_in_spark(self) -> DataFrame:
        if self._plain is not None or self._parent is None:
            return self.for_action()
        dialect = self.table.settings()[1]
        lasting = Dialect.OTHER if dialect is Dialect.OTHER else Dialect.LENIENT
        return self._read((None, lasting))  # what it reads is right with all settings that may be there when it runs

    def _read(self, settings: Settings) -> DataFrame:
        operations = self._operations()
        frame = self.table.read(self.table.needs(operations, settings))
        return functools.reduce(lambda made, operation: operation.of(made), operations, frame)

    def _can_be_asked(self, asked: _Node) -> bool:
        """True if somebody may ask for a column of this DataFrame, or compare those of two that are made of it."""
        is_held = self.shown is not None and self.shown() is not None
        return self is asked or is_held or len(self._children) > 1

    def _is_in_spark(self) -> bool:
        return any(node._made is not None for node in self._lineage())

    def _operations(self) -> list[Operation]:
        return [node._operation for node in self._lineage() if node._operation is not None]

    def _lineage(self) -> list[_Node]:
        """The nodes that this one is made of, from that of the table on, and this one."""
        found, node = [self], self._parent
        while node is not None:
            found.append(node)
            node = node._parent
        return found[::-1]


def _shown(node: _Node) -> DataFrame:
    made = RecordedFrame(node)
    node.shown = weakref.ref(made)
    return cast(DataFrame, made)
