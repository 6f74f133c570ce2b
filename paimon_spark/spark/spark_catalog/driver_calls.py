"""What would take Python many round trips, done by a class in the JVM of the driver.

Each look into a JVM object is a round trip of some 100 microseconds: so predicates go to Python as one text, of JSON.
Janino compiles the class, as that of ``planner_strategy``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects

_NAME = "PaimonDriverCalls"
_SOURCE = """
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.execution.datasources.FileStatusCache;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

public class PaimonDriverCalls {
    private static final int MOST_VALUES = 1000;

    public String text(Predicate[] predicates) {
        StringBuilder out = new StringBuilder();
        putAll(out, predicates);
        return out.toString();
    }

    public Predicate[] chosen(Predicate[] predicates, String places) {
        if (places.isEmpty()) return new Predicate[0];
        String[] wanted = places.split(" ");
        Predicate[] found = new Predicate[wanted.length];
        for (int i = 0; i < wanted.length; i++) found[i] = predicates[Integer.parseInt(wanted[i])];
        return found;
    }

    public Statistics statistics(final long rows, final long size) {
        return new Statistics() {
            public OptionalLong numRows() { return OptionalLong.of(rows); }
            public OptionalLong sizeInBytes() { return OptionalLong.of(size); }
        };
    }

    public Seq paths(FileStatusCache cache, String files) {
        List paths = new ArrayList();
        String[] texts = files.split("\\0");
        for (int i = 0; i + 1 < texts.length; i += 2) {
            Path path = new Path(texts[i + 1]);
            FileStatus status = new FileStatus(Long.parseLong(texts[i]), false, 1, 128L << 20, 0L, path);
            cache.putLeafFiles(path, new FileStatus[] {status});
            paths.add(path);
        }
        return CollectionConverters.asScala(paths).toSeq();
    }

    public LogicalPlan renamed(LogicalPlan plan, Seq attributes) {
        Seq own = plan.output();
        List named = new ArrayList();
        for (int i = 0; i < own.size(); i++) {
            Attribute as = (Attribute) attributes.apply(i);
            Expression of = (Expression) own.apply(i);
            named.add(new Alias(of, as.name(), as.exprId(), Nil$.MODULE$, Option.empty(), Nil$.MODULE$));
        }
        return new Project(CollectionConverters.asScala(named).toSeq(), plan);
    }

    private static void putAll(StringBuilder out, org.apache.spark.sql.connector.expressions.Expression[] expressions) {
        out.append('[');
        for (int i = 0; i < expressions.length; i++) {
            if (i > 0) out.append(',');
            put(out, expressions[i]);
        }
        out.append(']');
    }

    private static void put(StringBuilder out, org.apache.spark.sql.connector.expressions.Expression expression) {
        if (expression instanceof NamedReference) {
            String[] names = ((NamedReference) expression).fieldNames();
            out.append("{\\"column\\":[");
            for (int i = 0; i < names.length; i++) {
                if (i > 0) out.append(',');
                putText(out, names[i]);
            }
            out.append("]}");
        } else if (expression instanceof Literal && !(expression instanceof Predicate)) { // AlwaysTrue is both
            putValue(out, ((Literal) expression).value());
        } else if (expression instanceof GeneralScalarExpression && expression.children().length <= MOST_VALUES) {
            out.append("{\\"is\\":");
            putText(out, ((GeneralScalarExpression) expression).name());
            out.append(",\\"of\\":");
            putAll(out, expression.children());
            out.append('}');
        } else {
            out.append("{}");
        }
    }

    private static void putValue(StringBuilder out, Object value) {
        String kind = null;
        if (value == null || value instanceof Boolean) kind = "plain";
        if (value instanceof Byte || value instanceof Short || value instanceof Integer || value instanceof Long)
            kind = "plain";
        if (value instanceof Float || value instanceof Double) kind = "float";
        if (value instanceof Decimal) kind = "decimal";
        if (value instanceof UTF8String) kind = "text";
        if (value instanceof byte[]) kind = "bytes";
        out.append('{');
        if (kind != null) {
            putText(out, kind);
            out.append(':');
            if (kind.equals("plain")) out.append(value);
            else if (kind.equals("bytes")) putText(out, new BigInteger(withMark((byte[]) value)).toString(16));
            else putText(out, value.toString());
        }
        out.append('}');
    }

    private static byte[] withMark(byte[] value) {
        byte[] marked = new byte[value.length + 1];
        marked[0] = 1;
        System.arraycopy(value, 0, marked, 1, value.length);
        return marked;
    }

    private static void putText(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < ' ' || c > '~' || c == '"' || c == '\\\\') out.append(String.format("\\\\u%04x", (int) c));
            else out.append(c);
        }
        out.append('"');
    }
}
"""

Node: TypeAlias = Mapping[str, Any]
"""A column, ``{"column": names}``; a value, by its kind; a predicate or another function,
``{"is": name, "of": nodes}``; ``{}``: else."""


def parsed(objects: JvmObjects, predicates: Java) -> list[Node]:
    """Predicates of the JVM.

    Args:
        predicates: an array of org.apache.spark.sql.connector.expressions.filter.Predicate.
    """
    found: list[Node] = json.loads(_calls(objects).text(predicates))
    return found


def chosen(objects: JvmObjects, predicates: Java, places: Iterable[int]) -> Java:
    """Some predicates of an array, as an array."""
    return _calls(objects).chosen(predicates, " ".join(map(str, places)))


def statistics(objects: JvmObjects, rows: int, size: int) -> Java:
    """About how many rows and bytes a scan returns."""
    return _calls(objects).statistics(rows, size)


def cached_paths(objects: JvmObjects, cache: Java, files: Iterable[tuple[str, int]]) -> Java:
    """The paths of files, as a Seq, whose sizes are in the cache from here on: Spark asks the storage for none of them.

    Args:
        cache: org.apache.spark.sql.execution.datasources.FileStatusCache.
        files: (path, size) of each.
    """
    return _calls(objects).paths(cache, "\0".join(f"{size}\0{path}" for path, size in files))


def renamed_plan(objects: JvmObjects, plan: Java, attributes: Java) -> Java:
    """A plan whose columns have the names and ids of other attributes, one for each column."""
    return _calls(objects).renamed(plan, attributes)


def _calls(objects: JvmObjects) -> Java:
    return objects.compiled(_NAME, _SOURCE)
