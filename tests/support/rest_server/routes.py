"""Which part of the server does a request (Java: ResourcePaths)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from support.rest_server import history, objects, tables
from support.rest_server.answers import Failure, Json, page
from support.rest_server.tables import Name, State


def answer(state: State, method: str, path: list[str], query: Mapping[str, str], body: Json) -> Json:
    """The answer to a request below the prefix. path: decoded parts."""
    match path:
        case ["databases"]:
            return tables.databases(state, method, query, body)
        case ["tables", "rename"]:
            tables.rename(state, body)
        case ["views", "rename"]:
            objects.rename_view(state, body)
        case ["tables", "id", number]:
            for (database, table), stored in state.tables.items():
                if stored.id == number:
                    return tables.described(state, database, table)
            raise Failure(404, "TABLE", number, "no such id")
        case ["tables" | "views" | "functions" as kind]:
            named: dict[str, Iterable[Name]] = {
                "tables": state.tables,
                "views": state.views,
                "functions": state.functions,
            }
            found = ((f"{d}.{n}", {"database": d, "object": n}) for d, n in named[kind])
            return page(kind, found, query, state.page_size)
        case ["databases", name]:
            return tables.database(state, method, name, body)
        case ["databases", name, "register"]:
            tables.register(state, name, body)
        case ["databases", name, "tables"] if method == "POST":
            tables.create(state, name, body)
        case ["databases", name, "tables" | "table-details" as kind]:
            state.check_database(name)
            mine = [table for database, table in state.tables if database == name]
            if kind == "tables":
                return page(kind, ((table, table) for table in mine), query, state.page_size)
            details = ((table, tables.described(state, name, table)) for table in mine)
            return page("tableDetails", details, query, state.page_size)
        case ["databases", name, "view-details"]:
            mine_views = ((n, view) for (d, n), view in state.views.items() if d == name)
            return page("viewDetails", mine_views, query, state.page_size)
        case ["databases", name, "function-details"]:
            mine_functions = ((n, one) for (d, n), one in state.functions.items() if d == name)
            return page("functionDetails", mine_functions, query, state.page_size)
        case ["databases", name, "views", *rest]:
            return objects.views(state, method, name, rest, body, query)
        case ["databases", name, "functions", *rest]:
            return objects.functions(state, method, name, rest, body, query)
        case ["databases", name, "tables", table]:
            return _table(state, method, name, table, body)
        case ["databases", name, "tables", table, part, *rest]:
            return _of_table(state, method, (name, table), part, rest, body, query)
        case _:
            raise Failure(404, None, None, "no such path")
    return {}


def _table(state: State, method: str, database: str, table: str, body: Json) -> Json:
    if method == "GET":
        return tables.described(state, database, table)
    if method == "POST":
        tables.alter(state, database, table, body)
    else:
        tables.drop(state, (database, table))
    return {}


def _of_table(
    state: State, method: str, name: tables.Name, part: str, rest: list[str], body: Json, query: Mapping[str, str]
) -> Json:
    match part, rest:
        case "commit", []:
            return history.commit(state, *name, body)
        case "snapshot", []:
            return history.latest(state, *name)
        case "snapshots", []:
            return history.snapshots(state, *name)
        case "snapshots", [version]:
            return history.version(state, *name, version)
        case "rollback", []:
            history.roll_back(state, *name, body)
        case "replace", []:
            tables.replace(state, *name, body)
        case "branches", _:
            return history.branches(state, method, *name, rest, body)
        case "tags", _:
            return history.tags(state, method, *name, rest, body, query)
        case "partitions", _:
            return history.partitions(state, method, *name, rest, body, query)
        case "consumers", _:
            return history.consumers(state, method, *name, body)
        case "token", []:
            state.stored(*name)
            return state.tokens(name)
        case "auth", []:
            state.stored(*name)
            state.selected.append(body.get("select"))
            return state.auth.get(name, {"filter": None, "columnMasking": None})
        case _:
            raise Failure(404, None, None, "no such path")
    return {}
