"""A strategy of Spark's planner, by which our reader runs as a function of ``mapInArrow`` and not as a scan.

A scan of the connector interfaces updates metrics after each hundred rows, and copies each row once more: a third of
what the JVM does in such a read. It also has readers of one kind, so Spark itself could read all files of a table or
none. Where a scan implements ``java.util.function.Function``, the planner takes the plan that the function makes of it;
the filters and projections above stay. A join that narrows its scan while it runs keeps the scan.

A strategy is an abstract class, which no proxy can implement. So this is a class of ours in a JVM, that of the driver
alone. Janino compiles it, as it compiles the queries of Spark.
"""

from __future__ import annotations

from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects

CLASSES = (
    "org.codehaus.janino.SimpleCompiler",
    "org.apache.spark.sql.execution.SparkStrategy",
    "org.apache.spark.sql.catalyst.expressions.DynamicPruning",
)
_NAME = "PaimonScans"
_SOURCE = """
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.DynamicPruning;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import scala.collection.Iterator;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;

public class PaimonScans extends SparkStrategy {
    public Seq apply(LogicalPlan plan) {
        LogicalPlan leaf = plan;
        while (leaf instanceof Project || leaf instanceof Filter) {
            if (leaf instanceof Filter && narrows(((Filter) leaf).condition())) return Nil$.MODULE$;
            leaf = (LogicalPlan) leaf.children().head();
        }
        if (!(leaf instanceof DataSourceV2ScanRelation)) return Nil$.MODULE$;
        Object scan = ((DataSourceV2ScanRelation) leaf).scan();
        if (!(scan instanceof Function)) return Nil$.MODULE$;
        if (plan instanceof Project) {
            Project project = (Project) plan;
            return one(new ProjectExec(project.projectList(), planLater(project.child())));
        }
        if (plan instanceof Filter) {
            Filter filter = (Filter) plan;
            return one(new FilterExec(filter.condition(), planLater(filter.child())));
        }
        return one(planLater((LogicalPlan) ((Function) scan).apply(leaf)));
    }

    private static Seq one(SparkPlan plan) {
        return Nil$.MODULE$.prepended(plan).toSeq();
    }

    private static boolean narrows(Expression expression) {
        if (expression instanceof DynamicPruning) return true;
        Iterator children = expression.children().iterator();
        while (children.hasNext()) {
            if (narrows((Expression) children.next())) return true;
        }
        return false;
    }
}
"""


def planner_strategy(objects: JvmObjects) -> Java:
    """The object of the class."""
    return objects.compiled(_NAME, _SOURCE)


def add_strategy(session: Java, objects: JvmObjects, strategy: Java) -> None:
    """Lets the planner of a session of the JVM ask a strategy."""
    experimental = session.experimental()
    known = objects.static("scala.jdk.javaapi.CollectionConverters.asJava")(experimental.extraStrategies())
    strategies = objects.static("java.util.ArrayList")(known)
    if not strategies.contains(strategy):
        strategies.add(strategy)
        getattr(experimental, "extraStrategies_$eq")(objects.seq(strategies))


def strategy_of_new_sessions(objects: JvmObjects, strategy: Java) -> Java:
    """scala.Function1: Spark asks it for the strategy of each session that it makes."""
    return objects.make(["scala.Function1"], None, {"apply": strategy}, f"strategy {_NAME}")
