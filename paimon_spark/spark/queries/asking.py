"""A text goes to Spark, and what Spark does not understand of it comes back in the user's words.

Spark sees temporary views in the places of tables of ours: its errors show their names, and the plan with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import SqlError, TableNotFound, UnsupportedFeature, similar_names
from paimon_spark.spark.adapters.errors import without_plan
from paimon_spark.spark.adapters.open_catalogs import of_another_catalog
from paimon_spark.sql.text.cursor import Cursor, column_path
from paimon_spark.sql.text.lexer import tokenize

if TYPE_CHECKING:
    from paimon_spark.spark.queries.session import SqlSession

Args = Mapping[str, Any] | Sequence[Any] | None
_CONVERT = re.compile(r"\s*CONVERT\s+TO\b", re.IGNORECASE)
_NO_CONVERT = (
    "SQL: CONVERT TO is of Delta Lake, which this Spark session does not have, and no table becomes one of Paimon in "
    "its place: read the rows, such as spark.read.parquet('<path>'), and write them with "
    "cat['<database>.<table>'].append"
)
_OTHER_SYSTEMS = ("delta", "iceberg", "hudi")
_NO_FRAMES: Mapping[str, DataFrame] = {}
_NO_CATALOG = "REQUIRES_SINGLE_PART_NAMESPACE"
_NO_CATALOG_OF_NAME = "CATALOG_NOT_FOUND"
_NO_DATABASE = "SCHEMA_NOT_FOUND"
_NO_TABLE = "TABLE_OR_VIEW_NOT_FOUND"
_NO_PROCEDURE = ("UNRESOLVED_ROUTINE", "MISSING_CATALOG_ABILITY.PROCEDURES")


def ask_spark(
    session: SqlSession, text: str, args: Args = None, frames: Mapping[str, DataFrame] = _NO_FRAMES, asked: str = ""
) -> DataFrame:
    """What ``spark.sql`` returns.

    Args:
        text: with the names of the frames in braces, if there are any.
        args: for the parameters of the text.
        frames: in the places of tables of ours.
        asked: the user's text, where frames took the places of tables.

    Raises:
        SqlError: a name begins with a catalog that is not there, or Spark does not have the procedure of a CALL.
        TableNotFound: the name of a table is looked up in Spark's own catalog, and ours has the table.
        AnalysisException, ParseException: of Spark; without the names of the frames, and without the plan, where there
            are frames.
    """
    try:
        return session.spark.sql(text, args, **frames)  # type: ignore[arg-type]  # its stub lacks Mapping
    except ParseException as error:
        if _CONVERT.match(text):
            raise UnsupportedFeature(_NO_CONVERT) from None
        raise (_of_text(session, error, asked) if frames else error) from None
    except AnalysisException as error:
        ours = _of_procedure(session, error, text) or _of_names(session, error)
        raise (ours or (without_plan(error) if frames else error)) from None
    except Exception as error:  # Spark's for a catalog that is not there is no error of PySpark
        if _NO_CATALOG_OF_NAME not in str(error):
            raise
        raise _no_catalog(session, (re.findall(r"catalog `([^`]*)` not found", str(error)) or [text])[:1]) from None


def _of_procedure(session: SqlSession, error: AnalysisException, text: str) -> SqlError | None:
    """The sentence for a CALL of a procedure that Spark does not have, with the name to write; None: another error."""
    if error.getCondition() not in _NO_PROCEDURE or tokenize(text)[0].upper != "CALL":
        return None
    cursor = Cursor(text, tokenize(text)[1:], session.names)
    parts, ours = cursor.parts(), session.catalog.name
    name, written = ".".join(parts), f"{ours}.sys.{parts[-1]}"
    if of_another_catalog(session.spark, parts, ours) is not None:
        return SqlError(
            f"SQL: CALL {name}: the catalog '{ours}', whose sql was called, has procedures for its own tables only: "
            f"call this one by the sql of what paimon_spark.catalog returned for '{parts[0]}', or write {written} for "
            f"a table of '{ours}'"
        )
    return SqlError(
        f"SQL: CALL {name}: neither Spark nor the catalog '{ours}' has this procedure; those of the catalog are "
        f"written {ours}.sys.<procedure>, this one {written}, and SHOW PROCEDURES IN {ours} lists them"
    )


def _of_names(session: SqlSession, error: AnalysisException) -> SqlError | TableNotFound | None:
    """The sentence for a name that begins with no catalog of Spark, or that is one of ours; None: another error."""
    parameters, condition = error.getMessageParameters() or {}, error.getCondition()
    if condition == _NO_CATALOG:
        return _no_catalog(session, column_path(parameters["identifier"]))
    if condition == _NO_DATABASE:
        parts = column_path(parameters["schemaName"])
        return _no_catalog(session, parts[1:]) if len(parts) > 2 else None
    if condition == _NO_TABLE:
        parts = column_path(parameters["relationName"])
        if len(parts) == 2 and parts[0].lower() in _OTHER_SYSTEMS and "/" in parts[1]:
            return SqlError(
                f"SQL: {parts[0]}.`{parts[1]}` is a table of another system, which this Spark session does not have; a "
                f"Paimon table is named by its path as {session.catalog.name}.`{parts[1]}`"
            )
        if session.database is None and len(parts) == 2 and session.catalog.find_table(Identifier(*parts)) is not None:
            name, ours = ".".join(parts), session.catalog.name
            return TableNotFound(
                f"there is no table {name} in Spark's own catalog, which is the current one; the catalog '{ours}' has "
                f"it: write {ours}.{name}, or USE {ours}"
            )
    return None


def _no_catalog(session: SqlSession, parts: Sequence[str]) -> SqlError:
    name, ours = ".".join(parts), session.catalog.name
    refusal = of_another_catalog(session.spark, parts, ours)
    if refusal is not None:
        return SqlError(f"SQL: {refusal}")
    begins = f"{name} begins with {parts[0]}, which is no catalog" if len(parts) > 1 else f"{name} is no catalog"
    known = [ours, *(catalog.name for catalog in session.spark.catalog.listCatalogs())]
    near = similar_names(parts[0], known)
    meant = f"did you mean {'.'.join((*near, *parts[1:]))}? " if near else ""
    return SqlError(f"SQL: {begins}: {meant}there are {', '.join(known)}")


def _of_text(session: SqlSession, error: ParseException, asked: str) -> AnalysisException:
    """The error that Spark has for the user's own text, in which no frame stands."""
    try:
        session.spark.sql(f"EXPLAIN\n{asked}")  # which runs nothing
    except ParseException as own:
        error = own
    except Exception:  # the text itself can be read: its names are not there for Spark
        pass
    return without_plan(error, ParseException)
