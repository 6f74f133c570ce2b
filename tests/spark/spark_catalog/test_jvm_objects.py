"""Objects of the JVM that Python answers for, and collections: small ones are made in one round trip."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.java_gateway import GatewayClient
from py4j.protocol import MEMORY_COMMAND_NAME
from pyspark.errors import UnsupportedOperationException
from pyspark.sql import SparkSession

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.spark.spark_catalog.jvm_objects import JvmObjects, dict_of

pytestmark = pytest.mark.spark


@pytest.fixture
def objects(spark: SparkSession) -> JvmObjects:
    return JvmObjects(spark)


@pytest.mark.parametrize("values", [[], ["a"], [None], ["a", None], [*"abcdefghij"], [*"abcdefghijk"]])
def test_arrays_have_the_elements(objects: JvmObjects, values: list[str | None]) -> None:
    made = objects.strings(values)
    assert made.getClass().getName() == "[Ljava.lang.String;"
    assert list(made) == values


@pytest.mark.parametrize("count", [0, 1, 2])
def test_arrays_hold_arrays(objects: JvmObjects, count: int) -> None:
    made = objects.array("[Ljava.lang.String;", [objects.strings(["a", "b"]) for _ in range(count)])
    assert made.getClass().getName() == "[[Ljava.lang.String;"
    assert [list(each) for each in made] == [["a", "b"]] * count


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"a": None},
        dict(zip("abcdefghij", range(10), strict=True)),
        dict.fromkeys("abcdefghijk", 1),
        {**dict.fromkeys("abcdefghijklm", 1), "n": None},
    ],
)
def test_maps_have_the_pairs(objects: JvmObjects, values: dict[str, int | None]) -> None:
    assert dict_of(objects.map(values)) == values


@pytest.mark.parametrize("values", ["", "a", "abcdefghij", "abcdefghijk"])
def test_sets_have_the_elements(objects: JvmObjects, values: str) -> None:
    assert sorted(objects.set(values).toArray()) == list(values)


@pytest.mark.parametrize(
    ("name", "trips"),
    [
        ("java.util.ArrayList", 0),
        ("java.util.List.of", 1),
        ("java.lang.Boolean.TYPE", 1),
        ("org.apache.spark.sql.connector.read.Scan.ColumnarSupportMode.UNSUPPORTED", 2),
    ],
)
def test_a_name_costs_no_round_trip_for_its_package(
    objects: JvmObjects, monkeypatch: pytest.MonkeyPatch, name: str, trips: int
) -> None:
    """The JVM answers each of them by a look into all jars, for a class that has the name of the package."""
    sent = []
    send = GatewayClient.send_command

    def counted(client: Any, command: str, *more: Any) -> Any:
        if not command.startswith(MEMORY_COMMAND_NAME):  # of objects that are collected meanwhile
            sent.append(command)
        return send(client, command, *more)

    monkeypatch.setattr(GatewayClient, "send_command", counted)
    monkeypatch.setattr(type(objects._client), "send_command", counted)
    found = objects.static(name)
    assert (len(sent), objects.static(name)) == (trips, found)
    assert len(sent) == trips


class Calls:
    """Answers with what it is given."""

    def call(self) -> str:
        return "called"

    def apply(self, given: Any) -> Any:
        return "null" if given is None else given

    def compare(self, one: str, other: str) -> int:
        return len(one) - len(other)

    def run(self) -> None:
        raise UnsupportedFeature("it does not run")

    def get(self, place: int) -> str:
        return f"{place} of Python"


def test_calls_reach_python_with_their_arguments(objects: JvmObjects) -> None:
    kinds = ["util.concurrent.Callable", "util.function.Function", "util.Comparator", "lang.Runnable"]
    made = objects.make([f"java.{kind}" for kind in kinds], Calls())
    assert made.call() == "called"
    assert made.apply("x") == "x"
    assert made.apply(None) == "null"
    assert list(made.apply(objects.strings(["a", None]))) == ["a", None]
    assert (made.compare("aaa", "b"), made.reversed().compare("aaa", "b")) == (2, -2)
    with pytest.raises(UnsupportedOperationException, match="it does not run"):
        made.run()


def test_what_is_known_does_not_reach_python(objects: JvmObjects) -> None:
    constants = {"call": "constant", **{f"other {number}": number for number in range(20)}}
    made = objects.make(["java.util.concurrent.Callable"], Calls(), constants, "a text")
    assert (made.call(), made.toString()) == ("constant", "a text")
    same = objects.make(["java.util.concurrent.Callable"], None, {}, "a text")
    assert (made.equals(same), made.hashCode() == same.hashCode()) == (True, True)
    assert not made.equals(objects.make(["java.util.concurrent.Callable"], None, {}, "another"))
    with pytest.raises(UnsupportedOperationException, match="call"):
        same.call()


def test_a_delegate_answers_the_rest_and_its_errors_are_as_they_are(objects: JvmObjects) -> None:
    listed = objects.static("java.util.List.of")("a", "b")
    made = objects.make(["java.util.List"], Calls(), {"size": 7}, "a list", listed)
    assert (made.size(), made.get(0), made.contains("b"), made.indexOf("b")) == (7, "0 of Python", True, 1)
    with pytest.raises(UnsupportedOperationException):
        made.add("c")
    same, another = (objects.make(["java.util.List"], None, {}, text, listed) for text in ("a list", "another"))
    assert [made.equals(other) for other in (made, same, another, listed)] == [True, True, False, False]
