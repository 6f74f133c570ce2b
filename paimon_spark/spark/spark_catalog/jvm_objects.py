"""JVM objects whose calls Python answers: ``java.lang.reflect.Proxy`` over a dispatcher of method handles.

A plain Py4J proxy sends every call to Python, those of default methods, ``equals`` and ``hashCode`` too. The dispatcher
is put together of ``java.lang.invoke`` combinators, so no class of ours is in the JVM. The first of these that fits
answers a call:

1. a constant of that name, which never leaves the JVM;
2. Python, if the object there has a method of that name; a Throwable that it returns is thrown;
3. another JVM object, if there is one to which the rest is delegated;
4. the default method of the interface;
5. ``equals``, by the text of the object.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from py4j.clientserver import ClientServer
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from paimon_spark.errors import PaimonError, UnsupportedFeature

Java = Any
"""A JVM object, or a class of the JVM, as Py4J gives it."""
_log = logging.getLogger(__name__)
_HANDLE, _HANDLES = "java.lang.invoke.MethodHandle", "java.lang.invoke.MethodHandles"
_OBJECT = "java.lang.Object"
_DELEGATE = 4
"""The place of the delegate in the arguments of the dispatcher."""
_MOST_AT_ONCE = 10
"""Elements, or pairs, that List.of and Map.of take: one round trip makes the collection. They take no null."""


class Thrown(Exception):
    """Raised by a method that the JVM has called: a Throwable to be thrown there."""

    def __init__(self, throwable: Java) -> None:
        super().__init__("an exception of Java")
        self.throwable = throwable


class JvmObjects:
    """Makes objects of one JVM.

    Attributes:
        keeps_threads: True if calls of Python, while it answers one of the JVM, are done by the thread that asks.
        loader: finds the classes of the JVM.
    """

    def __init__(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext
        ensure_callback_server_started(context._gateway)
        self._jvm = context._jvm
        self.keeps_threads = isinstance(context._gateway, ClientServer)
        self.loader: Java = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        self._types: dict[str, Java] = {}
        self._statics: dict[str, Java] = {}
        self._kept: dict[Hashable, Java] = {}
        self._interfaces: dict[tuple[str, ...], Java] = {}
        self._names: dict[type, Java] = {}
        self._dispatch = _dispatcher(self)
        no_delegate = self.array(_OBJECT, [None])
        self._dispatch_alone = self.static(_HANDLES + ".insertArguments")(self._dispatch, _DELEGATE, no_delegate)

    def type(self, name: str) -> Java:
        """The java.lang.Class of a name.

        Raises:
            Py4JJavaError: there is none.
        """
        found = self._types.get(name)
        if found is None:
            found = self._types[name] = self._jvm.java.lang.Class.forName(name, True, self.loader)
        return found

    def static(self, name: str) -> Java:
        """A class, for its constructors, or a static method or constant of it, by its name.

        A member that Py4J is asked for at its class costs a round trip each time; those that are found here do not.
        """
        found = self._statics.get(name)
        if found is None:
            found = self._jvm
            for part in name.split("."):
                found = getattr(found, part)
            self._statics[name] = found
        return found

    def array(self, element: str, values: Iterable[Any]) -> Java:
        """An array of a class of elements."""
        items = list(values)
        if len(items) <= _MOST_AT_ONCE and not _has_null(items):
            whole = self._list(items).toArray()
            if element == _OBJECT:
                return whole
            kind = self.type("[" + (element if element.startswith("[") else f"L{element};"))
            return self.static("java.util.Arrays.copyOf")(whole, len(items), kind)
        made = self.static("java.lang.reflect.Array.newInstance")(self.type(element), len(items))
        for number, item in enumerate(items):
            self.static("java.lang.reflect.Array.set")(made, number, item)
        return made

    def strings(self, values: Iterable[str | None]) -> Java:
        return self.array("java.lang.String", values)

    def map(self, values: Mapping[str, Any]) -> Java:
        if len(values) <= _MOST_AT_ONCE and not _has_null(values.values()):
            return self.static("java.util.Map.of")(*(each for pair in values.items() for each in pair))
        made = self.static("java.util.HashMap")()
        for key, value in values.items():
            made.put(key, value)
        return made

    def seq(self, values: Java) -> Java:
        """A list of Java as immutable Seq of Scala."""
        return self.static("scala.jdk.javaapi.CollectionConverters.asScala")(values).toSeq()

    def set(self, values: Iterable[Any]) -> Java:
        items = list(values)
        if len(items) <= _MOST_AT_ONCE:
            return self.static("java.util.HashSet")(self._list(items))
        made = self.static("java.util.HashSet")()
        for value in items:
            made.add(value)
        return made

    def _list(self, items: Sequence[Any]) -> Java:
        if len(items) == 1:  # List.of would take an array for its elements
            return self.static("java.util.Collections.singletonList")(items[0])
        return self.static("java.util.List.of")(*items)

    def kept(self, key: Hashable, make: Callable[[], Java]) -> Java:
        """What is made once for all tables: by what it is made of."""
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = make()
        return found

    def compiled(self, name: str, source: str) -> Java:
        """The one object of a class, which Janino compiles here for this JVM alone.

        Args:
            name: of the class. It gets a name that no other class has: Py4J knows methods by it.
            source: in Java.
        """

        def make() -> Java:
            unique = f"{name}_{uuid.uuid4().hex}"
            compiler = self.static("org.codehaus.janino.SimpleCompiler")()
            compiler.setParentClassLoader(self.loader)
            compiler.cook(source.replace(name, unique))
            maker = (
                compiler.getClassLoader().loadClass(unique).getDeclaredConstructor(self.array("java.lang.Class", ()))
            )
            return maker.newInstance(self.array(_OBJECT, ()))

        return self.kept(name, make)

    def make(
        self,
        interfaces: Sequence[str],
        target: Any = None,
        constants: Mapping[str, Any] | None = None,
        text: str | None = None,
        delegate: Java = None,
    ) -> Java:
        """An object that implements interfaces.

        Args:
            interfaces: their names in Java.
            target: its public methods are those that Python answers; None: none.
            constants: results of methods, whatever their arguments.
            text: what ``toString`` returns; objects of one text are equal. None: equal to itself alone, with the
                constant ``name`` in its text.
            delegate: a JVM object that answers what neither constants nor Python do.
        """
        text = text or f"{(constants or {}).get('name') or type(target).__name__}@{id(target):x}"
        answers = self.map({**(constants or {}), "toString": text, "hashCode": _java_hash(text)})
        names = self._names.get(type(target))
        if names is None:
            names = self._names[type(target)] = self.set(_public_methods(target))
        handler = self._bound(delegate, answers, names, _Answers(self, target), text)
        key = tuple(interfaces)
        if key not in self._interfaces:
            self._interfaces[key] = self.array("java.lang.Class", map(self.type, key))
        proxy = self.static("java.lang.reflect.Proxy.newProxyInstance")
        return proxy(self.loader, self._interfaces[key], handler)

    def thread_id(self) -> int:
        """The thread of the JVM that asks; only where ``keeps_threads``."""
        return int(self.static("java.lang.Thread.currentThread")().getId())

    def is_called_by(self, method: str) -> bool:
        """True if a method of the JVM, as ``Class.method``, has led to the call that Python answers.

        Without ``keeps_threads`` there is no knowing, and the answer is False.
        """
        stack = self.static("java.io.StringWriter")()
        self.static("java.lang.Throwable")().printStackTrace(self.static("java.io.PrintWriter")(stack))
        return f".{method}(" in stack.toString()

    def is_made(self, thing: Java) -> bool:
        """True if Python answers for an object of the JVM."""
        return bool(self.static("java.lang.reflect.Proxy.isProxyClass")(thing.getClass()))

    def _bound(self, delegate: Java, *values: Any) -> Java:
        """The dispatcher with its first arguments."""
        dispatch = self._dispatch_alone if delegate is None else self._dispatch
        given = self.array(_OBJECT, values if delegate is None else (*values, delegate))
        bound = self.static(_HANDLES + ".insertArguments")(dispatch, 0, given)
        handler = self.type("java.lang.reflect.InvocationHandler")
        return self.static("java.lang.invoke.MethodHandleProxies.asInterfaceInstance")(handler, bound)

    def throwable(self, error: BaseException) -> Java:
        """What the JVM throws for an error of Python: unchecked, for a Proxy wraps what its method does not declare.

        PySpark shows these two as errors of its own, whose text is the message and nothing else.
        """
        if isinstance(error, Thrown):
            return error.throwable
        origin = cause_of(error)
        if origin is not None and self.type("java.lang.RuntimeException").isInstance(origin):
            return origin
        _log.debug("a call of the JVM ends with an error", exc_info=error)
        if isinstance(error, UnsupportedFeature):
            return self.static("java.lang.UnsupportedOperationException")(str(error))
        if isinstance(error, PaimonError | PySparkException):
            return self.static("java.lang.IllegalArgumentException")(str(error))
        return self.static("java.lang.RuntimeException")(f"{type(error).__name__}: {error}")


def dict_of(values: Java) -> dict[str, Any]:
    """A map of the JVM. Py4J's own iterator learns of its end by an exception, whose class costs 80 round trips."""
    entries = values.entrySet().toArray() if len(values) else ()
    return {entry.getKey(): entry.getValue() for entry in entries}


def _has_null(items: Iterable[Any]) -> bool:
    return any(item is None for item in items)


def cause_of(error: BaseException) -> Java:
    """The Throwable of the JVM that an error of Py4J or PySpark was made of; None: it was made of none."""
    return error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)


class _Answers:
    """java.util.function.BiFunction: the name of a method and its arguments give its result, or a Throwable."""

    class Java:
        implements = ("java.util.function.BiFunction",)

    def __init__(self, objects: JvmObjects, target: Any) -> None:
        self._objects = objects
        self._target = target

    def apply(self, name: str, arguments: Any) -> Any:
        try:
            values = () if arguments is None else [arguments[i] for i in range(len(arguments))]
            return getattr(self._target, name)(*values)
        except BaseException as error:  # Py4J would lose it, and end the connection
            return self._objects.throwable(error)


def _public_methods(target: Any) -> list[str]:
    kind = type(target)
    return [name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))]


def _java_hash(text: str) -> int:
    """``String.hashCode``: objects of one text have one hash."""
    value = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


class _Handles:
    """Method handles of the JVM, and what puts them together."""

    def __init__(self, objects: JvmObjects) -> None:
        self._objects = objects
        self.all = objects.static("java.lang.invoke.MethodHandles")
        self.lookup = self.all.lookup()
        self.thing, self.text = (objects.type(f"java.lang.{name}") for name in ("Object", "String"))
        self.method, self.things = objects.type("java.lang.reflect.Method"), objects.type("[Ljava.lang.Object;")
        self.throwable, self.flag = objects.type("java.lang.Throwable"), objects.static("java.lang.Boolean").TYPE
        self.constants, self.names, self.python = (
            objects.type(f"java.util.{name}") for name in ("Map", "Set", "function.BiFunction")
        )
        self.name_of = self.virtual(self.method, "getName", self.text)
        self.key_of = self.name_of.asType(self.signature(self.thing, self.method))

    def signature(self, result: Java, *arguments: Java) -> Java:
        given = self._objects.array("java.lang.Class", arguments)
        return self._objects.static("java.lang.invoke.MethodType").methodType(result, given)

    def virtual(self, owner: Java, name: str, result: Java, *arguments: Java) -> Java:
        return self.lookup.findVirtual(owner, name, self.signature(result, *arguments))

    def filtered(self, handle: Java, position: int, by: Java) -> Java:
        return self.all.filterArguments(handle, position, self._objects.array(_HANDLE, [by]))

    def of_whole(self, handle: Java, *positions: int) -> Java:
        """A handle of some arguments as one of all; they are in the order of ``whole``."""
        arrays = self._objects.static("java.lang.reflect.Array")
        order = arrays.newInstance(self._objects.static("java.lang.Integer").TYPE, len(positions))
        for number, position in enumerate(positions):
            arrays.setInt(order, number, position)
        whole = (self.constants, self.names, self.python, self.text, self.thing, self.thing, self.method, self.things)
        return self.all.permuteArguments(handle, self.signature(handle.type().returnType(), *whole), order)

    def asked(self) -> Java:
        """Python's answer; one that is a Throwable is thrown."""
        asked = self.virtual(self.python, "apply", self.thing, self.thing, self.thing)
        asked = asked.asType(self.signature(self.thing, self.python, self.thing, self.things))
        kind = self._objects.type("java.lang.Class")
        is_throwable = self.virtual(kind, "isInstance", self.flag, self.thing).bindTo(self.throwable)
        throws = self.all.throwException(self.thing, self.throwable).asType(self.signature(self.thing, self.thing))
        checked = self.all.guardWithTest(is_throwable, throws, self.all.identity(self.thing))
        return self.all.filterReturnValue(self.filtered(asked, 1, self.key_of), checked)

    def invoked(self) -> Java:
        """The delegate's answer, and its errors as they are."""
        wrapped = self._objects.type("java.lang.reflect.InvocationTargetException")
        cause = self.virtual(wrapped, "getCause", self.throwable)
        rethrown = self.filtered(self.all.throwException(self.thing, self.throwable), 0, cause)
        invoke = self.virtual(self.method, "invoke", self.thing, self.thing, self.things).asFixedArity()
        return self.all.catchException(invoke, wrapped, rethrown)

    def default(self) -> Java:
        """The answer of the default method of the interface."""
        handler = self._objects.type("java.lang.reflect.InvocationHandler")
        kind = self.signature(self.thing, self.thing, self.method, self.things)
        return self.lookup.findStatic(handler, "invokeDefault", kind).asFixedArity()

    def equal(self) -> Java:
        """True if the text is that of the other object."""
        first = self.all.insertArguments(
            self.all.arrayElementGetter(self.things), 1, self._objects.array("java.lang.Object", [0])
        )
        text_of = self.lookup.findStatic(self.text, "valueOf", self.signature(self.text, self.thing))
        other = self.all.filterReturnValue(first, text_of).asType(self.signature(self.thing, self.things))
        equal = self.filtered(self.virtual(self.text, "equals", self.flag, self.thing), 1, other)
        return equal.asType(self.signature(self.thing, self.text, self.things))

    def missing(self) -> Java:
        """Throws that the method has no answer."""
        error = self._objects.type("java.lang.UnsupportedOperationException")
        nothing = self._objects.static("java.lang.Void").TYPE
        made = self.filtered(self.lookup.findConstructor(error, self.signature(nothing, self.text)), 0, self.name_of)
        return self.filtered(self.all.throwException(self.thing, error), 0, made)


def _dispatcher(objects: JvmObjects) -> Java:
    """The handle of a call, from what answers last to what answers first."""
    has = _Handles(objects)
    is_constant = has.filtered(has.virtual(has.constants, "containsKey", has.flag, has.thing), 1, has.key_of)
    constant = has.filtered(has.virtual(has.constants, "get", has.thing, has.thing), 1, has.key_of)
    is_answered = has.filtered(has.virtual(has.names, "contains", has.flag, has.thing), 1, has.key_of)
    non_null = has.lookup.findStatic(objects.type("java.util.Objects"), "nonNull", has.signature(has.flag, has.thing))
    equals = has.virtual(has.text, "equals", has.flag, has.thing).bindTo("equals")
    is_equals = has.all.filterReturnValue(has.name_of, equals.asType(has.signature(has.flag, has.text)))
    chain = has.of_whole(has.missing(), 6)
    for test, answer in (
        (has.of_whole(is_equals, 6), has.of_whole(has.equal(), 3, 7)),
        (has.of_whole(has.virtual(has.method, "isDefault", has.flag), 6), has.of_whole(has.default(), 5, 6, 7)),
        (has.of_whole(non_null, 4), has.of_whole(has.invoked(), 6, 4, 7)),
        (has.of_whole(is_answered, 1, 6), has.of_whole(has.asked(), 2, 6, 7)),
        (has.of_whole(is_constant, 0, 6), has.of_whole(constant, 0, 6)),
    ):
        chain = has.all.guardWithTest(test, answer, chain)
    return chain
