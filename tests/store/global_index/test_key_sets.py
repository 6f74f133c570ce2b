"""The keys that conditions are looked up by, against what the conditions say of each value."""

from __future__ import annotations

from functools import reduce
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples

from paimon_spark.arrow.predicates.predicate import Compare, In, IsNotNull, IsNull, Leaf, Op, StartsWith, UnlessNull
from paimon_spark.arrow.predicates.pruning import match_values
from paimon_spark.format.global_index.keys import GlobalKeyForm, global_key_form
from paimon_spark.format.type_text import parse_type
from paimon_spark.store.global_index.key_sets import KeySet, key_set

COLUMN = ("c",)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "INT": st.integers(-4, 4),
    "DOUBLE": st.sampled_from([0.0, -0.0, 1.5, -2.0, float("nan"), float("inf"), float("-inf")]),
    "STRING": st.sampled_from(["", "a", "ab", "abc", "b", "é", "\U0010ffff"]),
}


def leaves(values: st.SearchStrategy[Any], is_text: bool) -> st.SearchStrategy[Leaf]:
    kinds: list[st.SearchStrategy[Leaf]] = [
        st.just(IsNull(COLUMN)),
        st.just(IsNotNull(COLUMN)),
        st.builds(UnlessNull, st.just(COLUMN), st.booleans()),
        st.builds(Compare, st.just(COLUMN), st.sampled_from(Op), values),
        st.builds(In, st.just(COLUMN), st.lists(values, min_size=1, max_size=3).map(tuple), st.booleans()),
    ]
    return st.one_of([*kinds, st.builds(StartsWith, st.just(COLUMN), values)] if is_text else kinds)


def has(keys: KeySet, value: Any, form: GlobalKeyForm) -> bool:
    if value is None:
        return keys.nulls
    key = form.key(value)
    return any(not each.is_after(key) and not each.is_before(key) for each in keys.intervals)


@settings(max_examples=examples(1500), deadline=None)
@given(st.data())
def test_keys_are_those_of_the_rows(data: st.DataObject) -> None:
    """Also of several conditions on one column."""
    data_type = data.draw(st.sampled_from(sorted(VALUES)))
    form, values = global_key_form(parse_type(data_type)), VALUES[data_type]
    given_leaves = data.draw(st.lists(leaves(values, data_type == "STRING"), min_size=1, max_size=3))
    wanted = data.draw(st.booleans())
    sets = [key_set(leaf, wanted, form) for leaf in given_leaves]
    keys = reduce(KeySet.common, [found for found in sets if found is not None])
    for value in [None, *data.draw(st.lists(values, min_size=5, max_size=9))]:
        truths = [match_values(leaf, {"c": value}) is wanted for leaf in given_leaves]
        assert has(keys, value, form) is all(truths), (given_leaves, wanted, value)
