"""The parser of a session: statements that Spark cannot hand to a catalog become calls of a procedure.

Spark parses all others, and a text that it does not understand is then looked at here: it may be a statement of Paimon.
Java: org.apache.spark.sql.catalyst.parser.ParserInterface.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ReferenceType

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_spark.errors import FunctionNotFound, PaimonError, SqlError, UnsupportedFeature
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.spark_catalog.jvm_objects import Java, Thrown, cause_of
from paimon_spark.spark.spark_catalog.sessions import CatalogSessions, RegisteredCatalogs
from paimon_spark.spark.spark_catalog.spark_internals import dataset_of, plan_of
from paimon_spark.sql import listings as q
from paimon_spark.sql import statements as s
from paimon_spark.sql.queries.functions import CATALOG_FUNCTIONS
from paimon_spark.sql.queries.references import CHANGES_FUNCTION, TABLE_FUNCTIONS, statement_advice
from paimon_spark.sql.text.lexer import Token, tokenize

_QUERIES = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "SET", "EXPLAIN", "("})
"""First words of what Spark reads itself."""
_BEFORE_CHANGES, _CHANGES = frozenset({"WITH", "FROM"}), frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})
"""``WITH q AS (...) MERGE INTO t`` and ``FROM q INSERT INTO t``."""
_OURS = frozenset({"UPDATE", "DELETE", "MERGE", "CALL", "COPY", "ALTER", "COMMENT"})
"""First words of what Spark does not do with a table of ours: a refusal of ours is the answer."""
_FUNCTIONS = (*CATALOG_FUNCTIONS, *TABLE_FUNCTIONS, CHANGES_FUNCTION)
_EXECUTED = (
    s.Call,
    s.CallByTag,
    s.Insert,
    s.InsertSeveral,
    s.Delete,
    s.Update,
    s.Merge,
    s.CopyInto,
    s.AddPartition,
    s.RepairTable,
    s.DropPartition,
    s.TruncatePartitions,
    s.CreateCatalogView,
    s.DropView,
    s.SetProperties,
    s.UnsetProperties,
    s.AlterColumns,
    s.CreateFunction,
    s.RenameTable,
    s.RenameView,
    s.ReplaceViewQuery,
    s.SetViewProperties,
    s.UnsetViewProperties,
    q.ShowColumns,
    q.ShowCreateTable,
    q.ShowFunctions,
    q.ShowPartitions,
    q.ShowTags,
    q.ShowProcedures,
    q.DescribeProcedure,
    q.DescribeFunction,
    q.DropFunction,
)


class StatementParser:
    """Answers for the parser of one session of the JVM.

    Attributes:
        delegate: Spark's own parser.
        session: a java.lang.ref.WeakReference to the session of the JVM. While it is made it must not be asked for
            anything.
        registry: the registered catalogs, which the session is made to know before a text is parsed.
    """

    def __init__(self, delegate: Java, session: Java, registry: ReferenceType[RegisteredCatalogs]) -> None:
        self._delegate = delegate
        self._session = session
        self._registry = registry
        self._version = 0

    def _catalogs(self) -> Sequence[CatalogSessions]:
        """The registered catalogs, which the session knows from now on."""
        registry = self._registry()
        if registry is None:
            return ()
        if self._version != registry.version:
            version = registry.version
            registry.enter(self._session.get())
            self._version = version
        return registry.sessions

    def parsePlan(self, text: str) -> Java:
        return self._parsed(text, lambda: _as_thrown(self._delegate.parsePlan, text), lambda: text)

    def parsePlanWithParameters(self, text: str, context: Java) -> Java:
        return self._parsed(
            text,
            lambda: _as_thrown(self._delegate.parsePlanWithParameters, text, context),
            lambda: _with_parameters(text, context),
        )

    def parseMultipartIdentifier(self, text: str) -> Java:
        self._catalogs()
        return _as_thrown(self._delegate.parseMultipartIdentifier, text)

    def parseTemporalTableIdentifier(self, text: str) -> Java:
        """Spark 4.3 asks for it where a name may say of which state the table is."""
        self._catalogs()
        return _as_thrown(self._delegate.parseTemporalTableIdentifier, text)

    def _parsed(self, text: str, by_spark: Callable[[], Java], whole: Callable[[], str]) -> Java:
        catalogs = self._catalogs()
        try:
            tokens = tokenize(text) if catalogs else ()
        except SqlError:
            return by_spark()
        words = {token.upper for token in tokens}
        first = tokens[0].upper if tokens else ""
        if not tokens or (first in _QUERIES and not (first in _BEFORE_CHANGES and words & _CHANGES)):
            return self._query(catalogs, text, whole) or by_spark()
        return self._statement(catalogs, tokens, text, by_spark, whole)

    def _statement(
        self,
        catalogs: Sequence[CatalogSessions],
        tokens: Sequence[Token],
        text: str,
        by_spark: Callable[[], Java],
        whole: Callable[[], str],
    ) -> Java:
        """The plan of what is no query."""
        from paimon_spark.spark.queries.reading import read_statement

        first, refusal = tokens[0].upper, None
        for catalog in catalogs:
            session = catalog.with_current_names(self._session.get())
            try:
                statement = read_statement(session, text)
            except (SqlError, UnsupportedFeature) as error:
                refusal = error
                continue
            if _is_executed(statement):
                from paimon_spark.spark.spark_catalog.procedure_calls import execution

                return self._delegate.parsePlan(execution(catalog.catalog.name, whole()))
            if catalog.catalog.has_functions and (given := _with_functions(session, whole())) != whole():
                return self._delegate.parsePlan(given)
        makes_function = first == "CREATE" and "FUNCTION" in [token.upper for token in tokens[1:4]]
        if refusal is not None and (first in _OURS or makes_function):
            raise refusal
        try:
            plan = by_spark()
        except Thrown:
            if refusal is None:
                raise
            raise refusal from None
        if first in ("DESCRIBE", "DESC") and len(tokens) > 2:
            self._refuse_foreign(plan, tokens)
        return plan

    def _refuse_foreign(self, plan: Java, tokens: Sequence[Token]) -> None:
        """Refuses DESCRIBE HISTORY t of a table of ours, which Spark takes for the column t of a table HISTORY.

        Raises:
            UnsupportedFeature: the statement is one of another system, and no table is called so.
        """
        advice = statement_advice(("DESCRIBE", tokens[1].upper), [token.name for token in tokens[2::2]])
        if advice is None or plan.getClass().getSimpleName() != "DescribeColumn":
            return
        session = self._session.get()
        current = session.sessionState().catalogManager().currentCatalog().name()
        ours = {each.catalog.name for each in self._catalogs()}
        if ours & {current, tokens[2].name} and not session.catalog().tableExists(tokens[1].text):
            raise UnsupportedFeature(f"DESCRIBE {tokens[1].upper} is of another system: {advice}")

    def _query(self, catalogs: Sequence[CatalogSessions], text: str, whole: Callable[[], str]) -> Java:
        """The plan of a query with a function or a view of a catalog, which Spark does not find; None: it has none."""
        has_function = any(name in text.lower() for name in _FUNCTIONS)
        if not has_function and not any(each.catalog.has_functions or each.catalog.has_views for each in catalogs):
            return None  # and the parser of queries stays away
        from paimon_spark.spark.queries.reading import read_statement
        from paimon_spark.sql.queries.query import Query

        refusal: PaimonError | None = None
        for catalog in catalogs:
            may_call = has_function or catalog.catalog.has_functions
            if not may_call and not catalog.catalog.has_views:
                continue
            session = catalog.with_current_names(self._session.get())
            try:
                statement = read_statement(session, text)
            except PaimonError as error:
                refusal = refusal or error
                continue
            uses = statement.uses if isinstance(statement, Query) else ()
            if any(use.increment or use.search or session.find_view(use.name) for use in uses):
                from paimon_spark.spark.statements.run import run_sql

                return plan_of(dataset_of(run_sql(session, whole())))
            if may_call and (given := _with_functions(session, whole())) != whole():
                return self._delegate.parsePlan(given)
        if refusal is not None and (has_function or isinstance(refusal, FunctionNotFound)):
            raise refusal
        return None


def _as_thrown(parse: Callable[..., Java], *arguments: Any) -> Java:
    """What Spark's own parser returns; its error is thrown as it is, for its methods declare it.

    Raises:
        Thrown: it does not understand the text.
    """
    try:
        return parse(*arguments)
    except (Py4JJavaError, CapturedException) as error:
        raise Thrown(cause_of(error)) from None


def _with_functions(session: SqlSession, text: str) -> str:
    from paimon_spark.spark.queries.run_query import with_functions

    return with_functions(session, text)


def _is_executed(statement: s.Statement) -> bool:
    """True if Spark hands a statement to no catalog, or not all of it.

    Raises:
        UnsupportedFeature: it makes a table that is none of Paimon.
    """
    if isinstance(statement, s.CreateTable):
        from paimon_spark.spark.statements.table_formats import check_clauses, format_options

        check_clauses(statement)
        return bool(statement.like or format_options(statement.provider))
    if isinstance(statement, q.ShowTables):
        return statement.kind == "VIEWS"
    if isinstance(statement, q.DescribeTable):
        return bool(statement.partition) or (statement.extended and bool(statement.column))
    return isinstance(statement, _EXECUTED)


def _with_parameters(text: str, context: Java) -> str:
    """A text with the arguments of ``spark.sql``, which are expressions of Spark, in the place of its parameters."""
    from paimon_spark.sql.queries.parameters import with_literals

    named, positional = dict[str, Java](), list[Java]()
    match context.getClass().getSimpleName():
        case "NamedParameterContext":
            pairs = context.params().iterator()
            while pairs.hasNext():
                pair = pairs.next()
                named[pair._1()] = pair._2()
        case "PositionalParameterContext":
            values = context.params().iterator()
            while values.hasNext():
                positional.append(values.next())
        case _:
            raise UnsupportedFeature(
                "SQL: EXECUTE IMMEDIATE ... USING gives no values to a statement that changes a table of Paimon; write "
                "them into its text, or run it by spark.sql(<statement>, args=[...])"
            )
    return with_literals(text, named, iter(positional), lambda shown, value: str(value.sql()))
