"""Converts the rows of a DataFrame to the columns of a table, by the rules of Spark's ANSI store assignment.

Columns are matched by name, first exactly, then in any letter case. A value is stored only where Spark's ANSI rules
allow it: numbers into numbers if they fit, dates into timestamps and back, any plain value into a string; never text
into numbers. Between an instant and a local time the zone of the session decides. A column that the rows lack is an
error, because its values would be lost silently. If the caller allows it to be absent, it is null, which later becomes
its default value.

For writes that may change the schema (`write.merge-schema`): what is missing is null at any depth, and a text becomes
the value of its column, as Java casts it. Everything else is left to the store assignment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.types as pt

from paimon_spark.arrow import kernels as pc
from paimon_spark.arrow.casts import as_instants, as_local_times, cast_array, integer_part
from paimon_spark.arrow.conform import batch_of, conform, list_of, map_of, struct_of
from paimon_spark.arrow.types import VARIANT, arrow_schema, arrow_type, data_type
from paimon_spark.arrow.zones import TimeZone, session_zone
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.quoting import did_you_mean
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import (
    BINARIES,
    FLOATS,
    INTEGERS,
    MAX_LENGTH,
    NESTED,
    STRINGS,
    TIMESTAMPS,
    UNORDERED,
    DataField,
    DataType,
    Root,
    holds,
)

MILLIS_PER_DAY = 86_400_000
NUMERIC = INTEGERS | FLOATS | {Root.DECIMAL}
DATED = TIMESTAMPS | {Root.DATE}
_COUNT = DataType(Root.INT, nullable=False)
_ANYTHING = DataType(Root.BOOLEAN)  # stands for a field the table does not have
_SHOWN = 40
"""Characters of a value in a message."""
_WHAT_THEN = (
    "correct it, or give the column a type that holds it, as a write with 'write.merge-schema' = 'true' and "
    "'write.merge-schema.type-widening' = 'true' does"
)
_MISSING_COLUMNS_ADVICE = (
    "all columns of the table, or choose with the option 'write.missing-columns' what becomes of those that are "
    "missing: 'null', or 'default' for their default values and null where there is none"
)
_OF_VARIANT = (
    "parse_json of Spark makes one of a text; without Spark a value is a struct of the fields value and metadata of "
    "VariantVal.parseJson(text) of PySpark"
)
_EXTRA_COLUMNS_ADVICE = "Drop the columns that the table lacks, or let 'write.merge-schema' = 'true' add them"


@dataclass(frozen=True)
class StoreRules:
    """What is not known from the types of rows and columns.

    Attributes:
        zone: of the session, for values that go from an instant to a local time or back; None: it is not known.
        pads: whether texts for CHAR(n) are filled up with blanks.
    """

    zone: TimeZone | None = None
    pads: bool = True


DEFAULT_RULES = StoreRules()


def align_batch(
    batch: pa.RecordBatch,
    fields: Sequence[DataField],
    omissible: Collection[str] = frozenset(),
    rules: StoreRules = DEFAULT_RULES,
) -> pa.RecordBatch:
    """The rows in exactly ``arrow_schema(fields)``.

    Args:
        batch: rows with columns in any order.
        fields: the columns of the table.
        omissible: names of columns that the rows may lack; they are null then.
        rules: what the session decides.

    Raises:
        DataError: columns are missing, too many or of a type that cannot be stored (the message lists only the
            differences), a value overflows, is too long, is null in a NOT NULL column without default, or needs a zone
            that is not known.
    """
    positions = _positions(batch.schema, fields, omissible)
    arrays: list[pa.Array] = []
    schema = arrow_schema(fields)
    for field, target in zip(fields, schema, strict=True):
        position = positions.get(field.name)
        if position is None:
            arrays.append(pa.nulls(batch.num_rows, target.type))
            continue
        array = _plain(batch.column(position))
        try:
            arrays.append(_store(array, field.type, rules))
        except (DataError, UnsupportedFeature, pa.ArrowInvalid) as error:
            raise DataError(f"writing column '{field.name}': {error}") from None
    for field, array in zip(fields, arrays, strict=True):
        if not field.type.nullable and field.default_value is None and array.null_count:
            raise DataError(
                f"the NOT NULL column '{field.name}' is null in at least {array.null_count} of the rows; filter these "
                "rows or give them a value"
            )
    return batch_of(arrays, schema, batch.num_rows)


def align_rows(
    batch: pa.RecordBatch,
    fields: Sequence[DataField],
    omissible: frozenset[str] = frozenset(),
    completes: bool = False,
    rules: StoreRules = DEFAULT_RULES,
) -> pa.RecordBatch:
    """Rows brought to the columns of the table; they may lack the omissible ones.

    Args:
        completes: they may also lack fields of structs, and have texts for other values.
        rules: as for align_batch.

    Raises:
        DataError: they do not fit.
    """
    timed = with_times(batch, fields)
    if completes:
        timed = complete_batch(timed, fields)
    return align_batch(timed, fields, omissible, rules)


def match_columns(names: Sequence[str], fields: Sequence[DataField]) -> dict[str, int]:
    """The position among the names of each table column that has one: the same name, else one in another case.

    A name that is just that of a column means no other column: of the columns n and N, rows with n alone lack N.
    """
    exact = {name: i for i, name in enumerate(names)}
    own = {field.name for field in fields}
    folded: dict[str, int] = {}
    for i, name in enumerate(names):
        if name not in own:
            folded.setdefault(name.lower(), i)
    found = {field.name: exact.get(field.name, folded.get(field.name.lower())) for field in fields}
    return {name: position for name, position in found.items() if position is not None}


def _positions(schema: pa.Schema, fields: Sequence[DataField], omissible: Collection[str]) -> dict[str, int]:
    """The position of each table column in the rows. Raises DataError with the list of all differences."""
    names = schema.names  # Arrow makes all of them anew each time
    found = match_columns(names, fields)
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    differences = [f"column '{name}' appears more than once; rename or drop one of them" for name in repeated]
    could_be_null = False
    for field in fields:
        if field.name in found:
            problem = _mismatch(schema.field(found[field.name]), field)
            if problem is not None:
                differences.append(problem)
        elif not field.type.nullable and field.default_value is None:
            differences.append(f"column '{field.name}' {type_sql(field.type)} is missing and must not be null")
        elif field.name not in omissible:
            could_be_null = True
            default = "" if field.default_value is None else f", whose default value is {field.default_value},"
            differences.append(f"column '{field.name}' {type_sql(field.type)}{default} is missing")
    taken = {names[position] for position in found.values()}
    absent = [field.name for field in fields if field.name not in found]
    unknown = [name for name in dict.fromkeys(names) if name not in taken]
    extra = [f"column '{name}' is not in the table{did_you_mean(name, absent)}" for name in unknown]
    differences += extra
    if differences:
        advice = f". Write {_MISSING_COLUMNS_ADVICE}" if could_be_null else ""
        advice += f". {_EXTRA_COLUMNS_ADVICE}" if extra else ""
        raise DataError(f"the rows do not fit the table: {'; '.join(differences)}{advice}")
    return found


def _mismatch(column: pa.Field, field: DataField) -> str | None:
    if column.type == pa.null():
        return None
    if _may_be_empty_maps(column.type, field.type):
        return None
    source = data_type(_typed(column.type, field.type), column.nullable)
    if _storable(source, field.type):
        return None
    shown = type_sql(source.with_nullable(True))
    way_out = _OF_VARIANT if field.type.root is Root.VARIANT else "cast it first"
    return f"column '{field.name}' is {shown}, the table has {type_sql(field.type)}: {way_out}"


def _storable(source: DataType, target: DataType) -> bool:
    """True if Spark's ANSI store assignment accepts a value of the source type (Cast.canANSIStoreAssign)."""
    have, want = source.root, target.root
    if want is Root.VARIANT:
        return have is want or _is_unmarked_variant(source)
    if have is Root.VARIANT:
        return False
    if want in NESTED or have in NESTED:
        return _storable_nested(source, target)
    if want in STRINGS:
        return True
    if have in NUMERIC:
        return want in NUMERIC
    if have in DATED:
        return want in DATED
    if have in BINARIES:
        return want in BINARIES or want is Root.BLOB
    if have in STRINGS:
        return False
    return have is want


def _is_unmarked_variant(source: DataType) -> bool:
    """True if this is the struct of value and metadata that a VARIANT is in Arrow, without Spark's mark."""
    parts = {field.name: field.type.root for field in source.fields}
    return parts.keys() == {"value", "metadata"} and set(parts.values()) <= BINARIES


def _storable_nested(source: DataType, target: DataType) -> bool:
    if target.root is Root.MULTISET and source.root is Root.MAP:
        return _storable(source.key_type, target.inner) and source.inner.root in INTEGERS
    if target.root is Root.VECTOR:
        return source.root is Root.ARRAY and _storable(source.inner, target.inner)
    if source.root is not target.root:
        return False
    if target.root is Root.ROW:
        found = match_columns([field.name for field in source.fields], target.fields)
        if not len(source.fields) == len(target.fields) == len(set(found.values())):
            return False
        return all(_storable(source.fields[found[want.name]].type, want.type) for want in target.fields)
    if target.root is Root.MAP:
        return _storable(source.key_type, target.key_type) and _storable(source.inner, target.inner)
    return _storable(source.inner, target.inner)


def _typed(have: pa.DataType, want: DataType) -> pa.DataType:
    """A nested type in which Arrow has seen no value for a part, with the type that the column has for it."""
    if have == pa.null():
        return arrow_type(want)
    if pa.types.is_list(have) and want.root in (Root.ARRAY, Root.VECTOR):
        return pa.list_(_typed_child(have.value_field, want.inner))
    if pa.types.is_map(have) and want.root is Root.MAP:
        return pa.map_(_typed_child(have.key_field, want.key_type), _typed_child(have.item_field, want.inner))
    if pa.types.is_struct(have) and want.root is Root.ROW:
        found = match_columns([child.name for child in have], want.fields)
        wanted = {position: field.type for field in want.fields if (position := found.get(field.name)) is not None}
        return pa.struct([_typed_child(child, wanted[at]) if at in wanted else child for at, child in enumerate(have)])
    return have


def _typed_child(child: pa.Field, want: DataType) -> pa.Field:
    return child.with_type(_typed(child.type, want))


def _may_be_empty_maps(have: pa.DataType, want: DataType) -> bool:
    """True for lists without a value where maps are wanted, as pandas gives a column of empty maps."""
    return want.root is Root.MAP and pa.types.is_list(have) and have.value_type == pa.null()


def _empty_maps(lists: pa.Array, to: pa.DataType) -> pa.Array:
    if len(lists.flatten()):
        raise DataError("lists of NULL are no maps; give each key and its value as a pair")
    offsets = pa.repeat(pa.scalar(0, pa.int32()), len(lists) + 1)
    nothing = (pa.nulls(0, to.key_type), pa.nulls(0, to.item_type))
    return pa.MapArray.from_arrays(offsets, *nothing, type=to, mask=lists.is_null())


def _plain(array: pa.Array) -> pa.Array:
    """The array with dictionaries decoded."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _store(array: pa.Array, target: DataType, rules: StoreRules) -> pa.Array:
    """The values as the target type.

    Raises:
        DataError: a value does not fit.
    """
    arrow = arrow_type(target)
    if array.type == arrow and target.root not in NESTED | STRINGS | BINARIES | {Root.VARIANT}:
        return array
    if array.type == pa.null():
        return pa.nulls(len(array), arrow)
    if _may_be_empty_maps(array.type, target):
        array = _empty_maps(array, arrow)
    typed = _typed(array.type, target)
    if typed != array.type:
        array = array.cast(typed)
    if target.root is Root.VARIANT:
        return _store_variant(array)
    source = data_type(array.type)
    if target.root in NESTED:
        return _store_nested(array, source, target, rules)
    if source.root in NUMERIC and target.root in NUMERIC:
        return array if array.type == arrow else _store_number(array, source, target)
    if (source.root is Root.TIMESTAMP_LTZ) != (target.root is Root.TIMESTAMP_LTZ):
        array, source = _in_zone(array, source, rules.zone)
    if target.root in STRINGS | BINARIES:
        return _store_text(array, source, target, rules.pads)
    if source.root is target.root or target.root is Root.BLOB:
        return conform(array, arrow)
    return cast_array(conform(array, arrow_type(source)), source, target)


def _in_zone(array: pa.Array, source: DataType, zone: TimeZone | None) -> tuple[pa.Array, DataType]:
    """An instant as the time on a clock of the zone, a local time or a date as the instant that it is there."""
    to_local = source.root is Root.TIMESTAMP_LTZ
    held = DataType(Root.TIMESTAMP if to_local else Root.TIMESTAMP_LTZ, precision=6)
    if array.null_count == len(array):
        return pa.nulls(len(array), arrow_type(held)), held
    if zone is None:
        raise DataError(
            f"the time zone of the session decides what becomes of a value of {type_sql(source)} in this column, and "
            "nobody says it in this write: set it, with spark.conf.set('spark.sql.session.timeZone', '<zone>') or, "
            "without Spark, open_table('<path>', time_zone='<zone>'); or cast the column first"
        )
    found = session_zone(zone)
    array = conform(array, arrow_type(source))
    return (as_local_times(array, found) if to_local else as_instants(array, source, found)), held


def _without_fraction(array: pa.Array) -> pa.Array:
    if pa.types.is_integer(array.type):
        return array
    return integer_part(array) if pa.types.is_decimal(array.type) else pc.trunc(array)


def _store_number(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """A number as another number type; out of range is an error, a fraction is cut (integers) or rounded (decimals)."""
    found = _numbers(array, source, target)
    if found is not None:
        return found
    while len(array) > 1:  # the first value that does not fit is in the half that does not
        half = array.slice(0, len(array) // 2)
        array = array.slice(len(half)) if _numbers(half, source, target) is not None else half
    raise DataError(f"the value {array[0].as_py()} does not fit into {type_sql(target)}; {_WHAT_THEN}")


def _numbers(array: pa.Array, source: DataType, target: DataType) -> pa.Array | None:
    """Numbers as another number type; None: one of them does not fit."""
    arrow = arrow_type(target)
    try:
        if target.root is Root.DECIMAL:
            return _store_decimal(array, source, target)
        if target.root in INTEGERS:
            return _without_fraction(array).cast(arrow)
        if source.root is Root.DECIMAL:  # Arrow's own cast rounds twice, a text becomes the nearest number
            array = array.cast(pa.string())
        return array.cast(arrow, safe=False)
    except pa.ArrowInvalid:
        return None


def _store_decimal(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Numbers rounded half up to the scale, floats by their shortest text; beyond the precision is an error."""
    if source.root is Root.DECIMAL and (source.scale or 0) <= (target.scale or 0):
        return array.cast(arrow_type(target))
    if source.root in FLOATS and pc.any(pc.invert(pc.is_finite(array))).as_py():
        raise pa.ArrowInvalid("not a finite number")
    stored = cast_array(conform(array, arrow_type(source)), source, target)
    if stored.null_count > array.null_count:
        raise pa.ArrowInvalid("too many digits")
    return stored


def _store_text(array: pa.Array, source: DataType, target: DataType, pads: bool) -> pa.Array:
    """Text or bytes of at most the length of the type (Spark: CharVarcharCodegenUtils).

    A longer text is cut where all that goes is blanks at the end, and is an error otherwise. CHAR(n) may be padded.
    """
    arrow = arrow_type(target)
    if source.root in BINARIES and target.root in STRINGS:
        array = cast_array(conform(array, arrow_type(source)), source, target)
    elif source.root in STRINGS | BINARIES:
        array = conform(array, arrow)
    else:
        array = _as_text(array, source)
    limit = target.length or MAX_LENGTH
    if limit >= MAX_LENGTH or not len(array):
        return array
    if target.root in BINARIES:
        _check_lengths(array, pc.binary_length(array), target)
        return array
    too_long = pc.greater(pc.utf8_length(array), limit)
    if too_long.true_count:
        _check_lengths(array, pc.utf8_length(pc.utf8_rtrim(array, " ")), target)
        array = pc.utf8_slice_codeunits(array, 0, limit)
    return pc.utf8_rpad(array, limit) if pads and target.root is Root.CHAR else array


def _check_lengths(array: pa.Array, lengths: pa.Array, target: DataType) -> None:
    too_long = pc.greater(lengths, target.length)
    if too_long.true_count:
        value, length = array.filter(too_long)[0].as_py(), lengths.filter(too_long)[0].as_py()
        shown = f"{value[:_SHOWN]!r}" + ("..." if len(value) > _SHOWN else "")
        raise DataError(f"the value {shown} of length {length} does not fit into {type_sql(target)}; {_WHAT_THEN}")


def _as_text(array: pa.Array, source: DataType) -> pa.Array:
    """The values as Java prints them, except that fractions of a second have no trailing zeros, as in Spark."""
    texts = cast_array(conform(array, arrow_type(source)), source, DataType(Root.VARCHAR, length=MAX_LENGTH))
    if source.root not in TIMESTAMPS | {Root.TIME}:
        return texts
    shortened = pc.replace_substring_regex(texts, r"(\.\d*?)0+$", r"\1")
    return pc.replace_substring_regex(shortened, r"\.$", "")


def _store_nested(array: pa.Array, source: DataType, target: DataType, rules: StoreRules) -> pa.Array:
    arrow = arrow_type(target)
    if array.offset:
        array = pa.concat_arrays([array])  # else children of rows outside the slice would count
    if target.root is Root.ROW:
        positions = match_columns([field.name for field in source.fields], target.fields)
        children = [array.field(positions[field.name]) for field in target.fields]
        stored = [_store_inner(child, field.type, rules) for child, field in zip(children, target.fields, strict=True)]
        for field, child in zip(target.fields, stored, strict=True):
            if not field.type.nullable and child.null_count:
                _refuse_nulls(pc.and_(child.is_null(), array.is_valid()), f"the NOT NULL field '{field.name}'")
        return struct_of(array, stored, list(arrow))
    if target.root in (Root.MAP, Root.MULTISET):
        key, item = (target.key_type, target.inner) if target.root is Root.MAP else (target.inner, _COUNT)
        keys, items = _store_inner(array.keys, key.with_nullable(False), rules), _store_inner(array.items, item, rules)
        if not item.nullable:
            _refuse_nulls(items.is_null(), "a NOT NULL value of a map")
        return map_of(array, keys, items, arrow)
    array = array if pa.types.is_list(array.type) else array.cast(pa.list_(array.type.value_field))
    stored_values = _store_inner(array.values, target.inner, rules)
    if not target.inner.nullable:
        _refuse_nulls(array.flatten().is_null(), "a NOT NULL element of an array")
    if target.root is Root.VECTOR:
        return conform(list_of(array, stored_values, pa.list_(stored_values.type)), arrow)
    return list_of(array, stored_values, arrow)


def _store_variant(array: pa.Array) -> pa.Array:
    stored = conform(array, VARIANT)
    for part in stored.flatten():
        if part.null_count > stored.null_count:
            raise DataError("a value of VARIANT lacks its value or its metadata: give both, or NULL")
    return stored


def _store_inner(array: pa.Array, target: DataType, rules: StoreRules) -> pa.Array:
    return _store(_plain(array), target, rules)


def _refuse_nulls(nulls: pa.BooleanArray, what: str) -> None:
    if pc.any(nulls).as_py():
        raise DataError(f"{what} is null in some rows; filter these rows or give it a value")


def complete_batch(batch: pa.RecordBatch, fields: Sequence[DataField]) -> pa.RecordBatch:
    """The rows with all fields in the structs of their columns.

    Args:
        batch: columns in any order.
        fields: the columns of the table.

    Raises:
        DataError: a text is no value of its column.
    """
    found = match_columns(batch.schema.names, fields)
    arrays, schema = list(batch.columns), list(batch.schema)
    for field in fields:
        position = found.get(field.name)
        if position is None:
            continue
        try:
            arrays[position] = _completed(arrays[position], field.type)
        except DataError as error:
            raise DataError(f"writing column '{field.name}': {error}") from None
        schema[position] = pa.field(schema[position].name, arrays[position].type)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(schema))


def _completed(array: pa.Array, target: DataType) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.type == pa.null():
        return array
    source = data_type(array.type)
    if source.root in STRINGS and target.root not in STRINGS | BINARIES | UNORDERED:
        return cast_array(conform(array, arrow_type(source)), source, target)
    if source.root is not target.root or target.root not in NESTED:
        return array
    if array.offset:
        array = pa.concat_arrays([array])  # else children of rows outside the slice would count
    match target.root:
        case Root.ROW:
            return _completed_struct(array, target)
        case Root.ARRAY:
            array = array if pa.types.is_list(array.type) else array.cast(pa.list_(array.type.value_field))
            values = _completed(array.values, target.inner)
            return list_of(array, values, pa.list_(values.type))
        case Root.MAP:
            items = _completed(array.items, target.inner)
            return map_of(array, array.keys, items, pa.map_(array.type.key_type, items.type))
    return array


def _completed_struct(array: pa.Array, target: DataType) -> pa.Array:
    """Fields that the table does not have stay, for the store assignment to name; NOT NULL ones are not made up."""
    names = [array.type.field(i).name for i in range(array.type.num_fields)]
    found = match_columns(names, target.fields)
    children = {names[i]: array.field(i) for i in range(len(names))}
    for field in target.fields:
        position = found.get(field.name)
        if position is not None:
            children[names[position]] = _completed(array.field(position), field.type)
        elif field.type.nullable:
            children[field.name] = pa.nulls(len(array), arrow_type(field.type))
    arrow = [pa.field(name, child.type) for name, child in children.items()]
    return struct_of(array, list(children.values()), arrow)


def contains_time(data_type: DataType) -> bool:
    """True if a type is TIME or holds one, at any depth."""
    return holds(data_type, lambda part: part.root is Root.TIME)


def with_times(batch: pa.RecordBatch, fields: Iterable[DataField]) -> pa.RecordBatch:
    """Rows to be written, with TIME where they hold the milliseconds of the day that Spark shows a TIME as.

    Args:
        batch: columns in any order.
        fields: the columns of the table.

    Raises:
        DataError: a number is no time of the day.
    """
    known = tuple(fields)
    timed = [field for field in known if contains_time(field.type)]
    if not timed:
        return batch
    found, arrays = match_columns(batch.schema.names, known), list(batch.columns)
    for field in timed:
        position = found.get(field.name)
        if position is not None:
            arrays[position] = _with_times(arrays[position], field.type, field.name)
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _with_times(array: pa.Array, data_type: DataType, column: str) -> pa.Array:
    """The array with TIME for INT wherever the data type says so; what does not look like it is left as it is."""
    have, root = array.type, data_type.root
    if not contains_time(data_type):
        return array
    if root is Root.TIME and pt.is_int32(have):
        return _times(array, column)
    if root is Root.ARRAY and pt.is_list(have):
        values = _with_times(array.values, data_type.inner, column)
        return list_of(array, values, pa.list_(have.value_field.with_type(values.type)))
    if root is Root.MAP and pt.is_map(have):
        keys = _with_times(array.keys, data_type.key_type, column)
        items = _with_times(array.items, data_type.inner, column)
        to = pa.map_(have.key_field.with_type(keys.type), have.item_field.with_type(items.type))
        return map_of(array, keys, items, to)
    if root is Root.ROW and pt.is_struct(have):
        found = match_columns([f.name for f in have], data_type.fields)
        inner = {found[field.name]: field.type for field in data_type.fields if field.name in found}
        children = [_with_times(array.field(i), inner.get(i, _ANYTHING), column) for i in range(have.num_fields)]
        return struct_of(array, children, [f.with_type(c.type) for f, c in zip(have, children, strict=True)])
    return array


def _times(array: pa.Array, column: str) -> pa.Array:
    bounds = pc.min_max(array).as_py()
    low, high = bounds["min"], bounds["max"]
    if low is not None and (low < 0 or high >= MILLIS_PER_DAY):
        wrong = low if low < 0 else high
        raise DataError(
            f"column '{column}' is TIME, which Spark sees as the milliseconds of the day: {wrong} is not among them"
        )
    return array.view(pa.time32("ms"))
