"""Values as the types of the columns that they are stored in, in statements of SQL.

They are cast by the rules of ANSI SQL, texts into numbers and dates too (Java: PaimonOutputResolver.addCast, release
2.0.0). Spark's own store assignment refuses more; `spark.sql.storeAssignmentPolicy` = STRICT does so here too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as st

from paimon_spark.arrow.alignment import match_columns
from paimon_spark.errors import DataError, PaimonError, SqlError
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import STRINGS, DataField, DataType, Root
from paimon_spark.spark.adapters.aligned_values import Naming
from paimon_spark.spark.adapters.char_columns import takes_as_strings
from paimon_spark.spark.adapters.errors import names_hidden_table, raised, sentence_of_job
from paimon_spark.spark.adapters.session_options import is_ansi
from paimon_spark.spark.adapters.types import nullable_type

POLICY = "spark.sql.storeAssignmentPolicy"
_COUNTED = (st.DayTimeIntervalType, st.YearMonthIntervalType)
_INTERVALS = (st.CalendarIntervalType, *_COUNTED)
_ANY_CASE = Naming()
_INTEGRAL = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)
_DATETIMES = (st.DateType, st.TimestampType, st.TimestampNTZType)
_TIMES: dict[Root, st.DataType] = {
    Root.DATE: st.DateType(),
    Root.TIMESTAMP: st.TimestampNTZType(),
    Root.TIMESTAMP_LTZ: st.TimestampType(),
}
_JVM_CALL_SITE = re.compile(r"called from\s+(?:java\.base/)?jdk\.internal\.reflect\.")
"""In the error of an expression that is made in ``without_call_sites``: what the JVM finds in place of a program."""
_SEVERAL_ROWS = "SCALAR_SUBQUERY_TOO_MANY_ROWS"
_NO_CAST = re.compile(
    r'The value (?P<value>.*) of the type "(?P<have>[^"]+)" cannot be cast to "(?P<want>[^"]+)"'
    r"|\]\s+(?P<number>\S+) cannot be represented as (?P<digits>Decimal\(\d+, \d+\))",
    re.DOTALL,
)


@dataclass(frozen=True)
class StorePolicy:
    """How a session stores values of other types than the column's.

    Attributes:
        policy: the setting `spark.sql.storeAssignmentPolicy`: ANSI or LEGACY, which cast what can be cast, or STRICT,
            which takes no value that could lose anything.
        is_ansi: whether casts that fail raise an error (`spark.sql.ansi.enabled`).
        pads_char: whether texts for CHAR are padded.
    """

    policy: str
    is_ansi: bool
    pads_char: bool = True

    @classmethod
    def of(cls, spark: SparkSession) -> StorePolicy:
        """The settings of a session, as they are now."""
        policy = (spark.conf.get(POLICY, "ANSI") or "ANSI").upper()
        return cls(policy, is_ansi(spark), not takes_as_strings(spark))


@dataclass(frozen=True)
class StoredAs:
    """Where a value goes.

    Attributes:
        column: the name of the column, for messages.
        type: of the column.
        what: what is being done, such as "INSERT INTO db.t", for messages.
    """

    column: str
    type: st.DataType
    what: str


def _way_out(have: st.DataType, want: st.DataType) -> str:
    """What to do about a value of another type. A text that is cast to VARIANT is that text, and not its JSON."""
    if not isinstance(want, st.VariantType):
        return "cast it in the query"
    if isinstance(have, st.StringType):
        return "parse_json makes a VARIANT of a text of JSON, and try_parse_json makes NULL of other texts"
    return "to_variant_object makes a VARIANT of a struct, a map or an array, and a cast one of another value"


def stored(value: Column, have: st.DataType, target: StoredAs, rules: StorePolicy) -> Column:
    """A value as the type of a column. A value that does not fit fails the job, also where ANSI mode is off.

    NULL where a nested type does not allow it is found when the rows are written.

    Args:
        have: the type of the value.

    Raises:
        DataError: no value of that type can be stored in the column, or none surely.
    """
    want = target.type
    if have == want:
        return value
    is_strict = rules.policy == "STRICT"
    if not can_store(have, want, is_strict):
        rule = f", and {POLICY} is STRICT" if is_strict and can_store(have, want) else ""
        raise DataError(
            f"{target.what}: {have.simpleString()} cannot be stored in the column '{target.column}', which is "
            f"{want.simpleString()}{rule}; {_way_out(have, want)}"
        )
    cast = nullable_type(want)
    if rules.is_ansi or rules.policy == "LEGACY":
        return value.cast(cast)
    if not isinstance(want, st.AtomicType) and not can_store(have, cast, is_strict=True):
        raise DataError(  # try_cast would make NULLs of the values in it that do not fit, and nobody would know
            f"{target.what}: values in the column '{target.column}' may not fit from {have.simpleString()} into "
            f"{want.simpleString()}, and the session has ANSI mode off; cast it in the query"
        )
    message = F.concat(
        F.lit(f"{target.what}: a value does not fit into the column '{target.column}' {want.simpleString()}: "),
        value.cast("string"),
    )
    fits = value.try_cast(want)
    return F.when(value.isNull() | fits.isNotNull(), fits).otherwise(raised(DataError, message).cast(want))


@dataclass(frozen=True)
class Given:
    """A value that is stored in a column: the name of the column, and the types of both."""

    column: str
    have: st.DataType
    want: st.DataType


def stored_times(df: DataFrame, fields: Sequence[DataField]) -> DataFrame:
    """The rows with times cast to those of their columns in the zone of the session, which the tasks do not know.

    Args:
        fields: the columns of the table; they are matched by name.
    """
    found = match_columns(df.columns, fields)
    values = [F.col(quoted(name)) for name in df.columns]
    casts = False
    for field in fields:
        position = found.get(field.name)
        if position is not None:
            given = df.schema[position]
            want = _zoned(given.dataType, field.type)
            if want != given.dataType:
                casts, values[position] = True, values[position].cast(want).alias(given.name)
    return df.select(*values) if casts else df


def _zoned(have: st.DataType, target: DataType) -> st.DataType:
    """A type, with the times of another one at the places where a zone decides what becomes of a value."""
    match have:
        case st.ArrayType() if target.root in (Root.ARRAY, Root.VECTOR):
            return st.ArrayType(_zoned(have.elementType, target.inner), have.containsNull)
        case st.MapType() if target.root is Root.MAP:
            items = _zoned(have.valueType, target.inner)
            return st.MapType(_zoned(have.keyType, target.key_type), items, have.valueContainsNull)
        case st.StructType() if target.root is Root.ROW:
            found = match_columns(have.names, target.fields)
            wanted = {found[field.name]: field.type for field in target.fields if field.name in found}
            return st.StructType(
                [
                    st.StructField(f.name, _zoned(f.dataType, wanted[i]) if i in wanted else f.dataType, f.nullable)
                    for i, f in enumerate(have.fields)
                ]
            )
    want = st.StringType() if target.root in STRINGS else _TIMES.get(target.root)
    if isinstance(have, st.TimestampType) and want is not None:
        return want
    return st.TimestampType() if isinstance(have, _DATETIMES) and target.root is Root.TIMESTAMP_LTZ else have


def job_error(error: Exception, what: str, given: Callable[[], Iterable[Given]]) -> PaimonError | None:
    """What to say of an error of Spark that failed a statement.

    Args:
        what: was done, for the message.
        given: the values that were stored; called for errors of casts only.

    Returns:
        None: the error as it is.
    """
    sentence = sentence_of_job(error)
    if sentence is None:
        return None
    is_ours = sentence[0] == _SEVERAL_ROWS or names_hidden_table(error)
    return _cast_error(error, what, given) or (SqlError(f"{what}: {sentence[1]}") if is_ours else None)


def _cast_error(error: Exception, what: str, given: Callable[[], Iterable[Given]]) -> DataError | None:
    """What to say of a job that failed because Spark could not cast a value to the type of its column.

    Spark tells the value and both types, so that several columns may be meant; and the place of a cast that the user
    wrote, which is another error.
    """
    text = str(error)
    found = _NO_CAST.search(text)
    if found is None or "== SQL" in text or ("== DataFrame" in text and not _JVM_CALL_SITE.search(text)):
        return None
    value, have, want = (
        found["value"] or found["number"],
        found["have"],
        (found["want"] or found["digits"]).replace(" ", "").lower(),
    )
    columns = [
        each.column
        for each in given()
        if any(
            want == b.simpleString() and have in (None, a.simpleString().upper()) and a != b
            for a, b in _atoms(each.have, each.want)
        )
    ]
    if not columns:
        return None
    named = ", ".join(f"'{name}'" for name in dict.fromkeys(columns))
    meant = f"one of the columns {named}" if "," in named else f"the column {named}"
    kind = f" of the type {have}" if have else ""
    return DataError(
        f"{what}: the value {value}{kind} does not fit as {want} into {meant}; correct it, or use try_cast "
        "in the query, which makes NULL of such values"
    )


def _atoms(have: st.DataType, want: st.DataType) -> Iterator[tuple[st.DataType, st.DataType]]:
    """The pairs of types that a cast casts, in nested types too."""
    match have, want:
        case st.StructType(), st.StructType():
            for a, b in zip(have.fields, want.fields, strict=False):
                yield from _atoms(a.dataType, b.dataType)
        case st.ArrayType(), st.ArrayType():
            yield from _atoms(have.elementType, want.elementType)
        case st.MapType(), st.MapType():
            yield from _atoms(have.keyType, want.keyType)
            yield from _atoms(have.valueType, want.valueType)
        case _:
            yield have, want


def has_names_of(have: st.DataType, want: st.DataType, naming: Naming = _ANY_CASE) -> bool:
    """True if the fields in a type have the names of another, in its order: a cast goes by their positions."""
    match have, want:
        case st.StructType(), st.StructType():
            names = [naming.same(name) for name in have.names], [naming.same(name) for name in want.names]
            pairs = zip(have.fields, want.fields, strict=False)
            return names[0] == names[1] and all(has_names_of(h.dataType, w.dataType, naming) for h, w in pairs)
        case st.ArrayType(), st.ArrayType():
            return has_names_of(have.elementType, want.elementType, naming)
        case st.MapType(), st.MapType():
            both = has_names_of(have.keyType, want.keyType, naming)
            return both and has_names_of(have.valueType, want.valueType, naming)
    return True


def can_store(have: st.DataType, want: st.DataType, is_strict: bool = False) -> bool:
    """True if values of one type may be stored as another (Spark: Cast.canAnsiCast, Cast.canUpCast).

    Args:
        is_strict: only where no value can lose anything.
    """
    match have, want:
        case st.NullType(), _:
            return True
        case st.ArrayType(), st.ArrayType():
            fits = not is_strict or want.containsNull >= have.containsNull
            return fits and can_store(have.elementType, want.elementType, is_strict)
        case st.MapType(), st.MapType():
            return (
                (not is_strict or want.valueContainsNull >= have.valueContainsNull)
                and can_store(have.keyType, want.keyType, is_strict)
                and can_store(have.valueType, want.valueType, is_strict)
            )
        case st.StructType(), st.StructType():
            return len(have) == len(want) and all(
                (not is_strict or w.nullable >= h.nullable) and can_store(h.dataType, w.dataType, is_strict)
                for h, w in zip(have.fields, want.fields, strict=True)
            )
    return have == want or (_keeps_all(have, want) if is_strict else _can_cast(have, want))


def _keeps_all(have: st.DataType, want: st.DataType) -> bool:
    if isinstance(have, st.NumericType) and isinstance(want, st.NumericType):
        return _widens(have, want)
    if isinstance(want, _DATETIMES):
        return isinstance(have, st.DateType)
    if isinstance(want, st.StringType):
        return (isinstance(have, st.AtomicType) and not isinstance(have, st.BinaryType)) or isinstance(have, _INTERVALS)
    return False


def _can_cast(have: st.DataType, want: st.DataType) -> bool:
    match want:
        case st.StringType():
            return True
        case st.NumericType():
            counts = isinstance(have, _COUNTED) and isinstance(want, (*_INTEGRAL, st.DecimalType))
            return counts or isinstance(have, (st.NumericType, st.StringType, st.BooleanType, st.TimestampType))
        case st.BooleanType():
            return isinstance(have, (st.StringType, st.NumericType))
        case st.TimestampType():
            return isinstance(have, (st.StringType, st.NumericType, *_DATETIMES))
        case st.DateType() | st.TimestampNTZType():
            return isinstance(have, (st.StringType, *_DATETIMES))
    return isinstance(want, st.BinaryType) and isinstance(have, st.StringType)


def _widens(have: st.NumericType, want: st.NumericType) -> bool:
    order = (st.ByteType, st.ShortType, st.IntegerType, st.LongType, st.FloatType, st.DoubleType)
    if isinstance(have, order) and isinstance(want, order):
        return order.index(type(have)) <= order.index(type(want))
    if isinstance(want, st.DecimalType):
        digits: dict[type[st.DataType], int] = {st.ByteType: 3, st.ShortType: 5, st.IntegerType: 10, st.LongType: 20}
        if isinstance(have, st.DecimalType):
            return want.scale >= have.scale and want.precision - want.scale >= have.precision - have.scale
        return type(have) in digits and want.precision - want.scale >= digits[type(have)]
    return isinstance(have, st.DecimalType) and isinstance(want, st.DoubleType)
