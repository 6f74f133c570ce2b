"""Statements of databases: CREATE, DROP, ALTER and USE, and of the functions in them: DROP."""

from __future__ import annotations

from pyspark.sql import DataFrame

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.spark.adapters.options import path_in_session
from paimon_spark.spark.queries.asking import ask_spark
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.sql import listings as q

_COMMENT = "comment"
_LOCATION = "location"


def run_create_database(session: SqlSession, create: q.CreateDatabase) -> DataFrame:
    """Creates a database."""
    properties = dict(create.properties)
    properties |= {} if create.comment is None else {_COMMENT: create.comment}
    properties |= {} if create.location is None else {_LOCATION: path_in_session(session.spark, create.location)}
    session.catalog.create_database(create.database, properties, ignore_if_exists=create.if_not_exists)
    return session.no_rows


def run_drop_database(session: SqlSession, drop: q.DropDatabase) -> DataFrame:
    """Drops a database, with CASCADE also one that has tables. A current database that goes is current no more."""
    session.catalog.drop_database(drop.database, ignore_if_not_exists=drop.if_exists, cascade=drop.cascade)
    return session.no_rows


def run_alter_database(session: SqlSession, alter: q.AlterDatabase) -> DataFrame:
    """Changes properties of a database, where the catalog keeps any."""
    properties = dict(alter.properties)
    properties |= {} if alter.location is None else {_LOCATION: path_in_session(session.spark, alter.location)}
    session.catalog.alter_database(alter.database, properties, alter.unset)
    return session.no_rows


def run_drop_function(session: SqlSession, drop: q.DropFunction) -> DataFrame:
    """Drops a function that a REST catalog stores; other catalogs have none, which IF EXISTS passes over."""
    session.catalog.drop_function(Identifier(drop.database, drop.function), ignore_if_not_exists=drop.if_exists)
    return session.no_rows


def run_use(session: SqlSession, use: q.UseDatabase) -> DataFrame:
    """Chooses the database in which names without a catalog are looked up, or gives such names to Spark."""
    done = ask_spark(session, use.text) if use.database is None else None
    session.use(use.database)
    return session.no_rows if done is None else done
