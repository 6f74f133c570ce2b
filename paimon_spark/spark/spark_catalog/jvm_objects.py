"""JVM objects whose calls Python answers: ``java.lang.reflect.Proxy`` over a class that Janino compiles in the driver.

A plain Py4J proxy sends every call to Python, those of default methods, ``equals`` and ``hashCode`` too. The first of
these that fits answers a call:

1. ``toString``, ``hashCode`` and ``equals``, by the text of the object;
2. a constant of that name, which never leaves the JVM;
3. Python, if the object there has a method of that name; a Throwable that it returns is thrown;
4. another JVM object, if there is one to which the rest is delegated;
5. the default method of the interface.

The delegate is not asked for ``equals``: it would compare itself with the proxy, and no proxy would equal itself. Spark
would then not use an exchange again whose scan is such a proxy.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from py4j.clientserver import ClientServer
from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from paimon_spark.errors import PaimonError, UnsupportedFeature

Java = Any
"""A JVM object, or a class of the JVM, as Py4J gives it."""
_log = logging.getLogger(__name__)
_OBJECT = "java.lang.Object"
_MOST_AT_ONCE = 10
"""Elements, or pairs, that List.of and Map.of take: one round trip makes the collection. They take no null."""
_JAVA = 8
"""Whose class files may call static methods of interfaces."""
_PROXIES = "PaimonProxies"
_SOURCE = """
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;

public class PaimonProxies {
    public Object make(ClassLoader loader, Class[] interfaces, Set answered, BiFunction python, Map constants,
            String text, Object delegate) {
        return Proxy.newProxyInstance(loader, interfaces, new Answers(answered, python, constants, text, delegate));
    }

    private static class Answers implements InvocationHandler {
        private final Set answered;
        private final BiFunction python;
        private final Map constants;
        private final String text;
        private final Object delegate;

        Answers(Set answered, BiFunction python, Map constants, String text, Object delegate) {
            this.answered = answered;
            this.python = python;
            this.constants = constants;
            this.text = text;
            this.delegate = delegate;
        }

        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            String name = method.getName();
            if (name.equals("toString")) return text;
            if (name.equals("hashCode")) return text.hashCode();
            if (name.equals("equals")) return text.equals(String.valueOf(arguments[0]));
            if (constants.containsKey(name)) return constants.get(name);
            if (answered.contains(name)) {
                int count = arguments == null ? 0 : arguments.length;
                Object answer = python.apply(count + " " + name, count == 1 ? arguments[0] : arguments);
                if (answer instanceof Throwable) throw (Throwable) answer;
                return answer;
            }
            if (delegate != null) {
                try {
                    return method.invoke(delegate, arguments);
                } catch (InvocationTargetException wrapped) {
                    throw wrapped.getCause();
                }
            }
            if (method.isDefault()) return InvocationHandler.invokeDefault(proxy, method, arguments);
            throw new UnsupportedOperationException(name);
        }
    }
}
"""


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
        self._client = context._gateway._gateway_client
        self.keeps_threads: bool = isinstance(context._gateway, ClientServer)
        self._types: dict[str, Java] = {}
        self._statics: dict[str, Java] = {}
        self.loader: Java = self.static("java.lang.Thread.currentThread")().getContextClassLoader()
        self._kept: dict[Hashable, Java] = {}
        self._interfaces: dict[tuple[str, ...], Java] = {}
        self._answered: dict[type, Java] = {}

    def type(self, name: str) -> Java:
        """The java.lang.Class of a name.

        Raises:
            Py4JJavaError: there is none.
        """
        found = self._types.get(name)
        if found is None:
            found = self._types[name] = self.static("java.lang.Class.forName")(name, True, self.loader)
        return found

    def static(self, name: str) -> Java:
        """A class, for its constructors, or a static method or constant of it, by its name.

        A member that Py4J is asked for at its class costs a round trip each time; those that are found here do not. Nor
        is Py4J asked what each part of a name is, for which the JVM would look for a class of that name in all jars:
        the class is the first part that begins with a capital letter.
        """
        found = self._statics.get(name)
        if found is None:
            parts = name.split(".")
            end = next(at for at, part in enumerate(parts, 1) if part[0].isupper())
            found = JavaClass(".".join(parts[:end]), self._client)
            for part in parts[end:]:
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

    def booleans(self, values: Sequence[bool]) -> Java:
        """An array of primitive booleans."""
        made = self.static("java.lang.reflect.Array.newInstance")(self.static("java.lang.Boolean.TYPE"), len(values))
        for number, value in enumerate(values):
            self.static("java.lang.reflect.Array.setBoolean")(made, number, value)
        return made

    def strings(self, values: Iterable[str | None]) -> Java:
        return self.array("java.lang.String", values)

    def map(self, values: Mapping[str, Any]) -> Java:
        pairs = [pair for pair in values.items() if pair[1] is not None]
        if len(pairs) == len(values) <= _MOST_AT_ONCE:
            return self._map(pairs)
        made = self.static("java.util.HashMap")()
        for at in range(0, len(pairs), _MOST_AT_ONCE):
            made.putAll(self._map(pairs[at : at + _MOST_AT_ONCE]))
        for key in (key for key, value in values.items() if value is None):
            made.put(key, None)
        return made

    def _map(self, pairs: Sequence[tuple[str, Any]]) -> Java:
        return self.static("java.util.Map.of")(*(each for pair in pairs for each in pair))

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
            compiler.setTargetVersion(_JAVA)
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
        kind, key = type(target), tuple(interfaces)
        if kind not in self._answered:
            self._answered[kind] = self.set(_public_methods(target))
        if key not in self._interfaces:
            self._interfaces[key] = self.array("java.lang.Class", map(self.type, key))
        python = None if target is None else self.function(target)
        known = self.map(constants) if constants else self.kept("no constants", lambda: self.map({}))
        return self.compiled(_PROXIES, _SOURCE).make(
            self.loader, self._interfaces[key], self._answered[kind], python, known, text, delegate
        )

    def function(self, target: Any) -> Any:
        """A java.util.function.BiFunction, for objects of compiled classes.

        It takes the number of arguments, a blank and the name of a method of the target, and beside that the argument
        or an array of them; its result is that of the method, or a Throwable to be thrown.
        """
        return _Answers(self, target)

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

    def apply(self, call: str, arguments: Any) -> Any:
        """
        Args:
            call: the number of arguments, a blank, and the name of the method.
            arguments: an array of them; if there is one, that alone, for which Py4J needs no further round trip.
        """
        try:
            count, _, name = call.partition(" ")
            values = [arguments] if count == "1" else [arguments[i] for i in range(int(count))]
            return getattr(self._target, name)(*values)
        except BaseException as error:  # Py4J would lose it, and end the connection
            return self._objects.throwable(error)


def _public_methods(target: Any) -> list[str]:
    kind = type(target)
    return [name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))]
