"""Views and functions of the server, in memory as they come."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from support.rest_server.answers import Failure, Json, missing, page, taken
from support.rest_server.tables import AUDIT, Name, State


def views(state: State, method: str, database: str, rest: list[str], body: Json, query: Mapping[str, str]) -> Json:
    """``.../views``, ``.../views/<view>``."""
    state.check_database(database)
    if not rest and method == "GET":
        return page("views", ((n, n) for d, n in state.views if d == database), query, state.page_size)
    key = (database, rest[0] if rest else body["identifier"]["object"])
    if not rest:
        if key in state.views or key in state.tables:
            raise taken("VIEW", key[1])
        state.views[key] = {"id": str(uuid.uuid4()), "name": key[1], "schema": body["schema"], **AUDIT}
        return {}
    if key not in state.views:
        raise missing("VIEW", key[1])
    if method == "DELETE":
        del state.views[key]
        return {}
    if method == "POST":
        state.views[key] = {**state.views[key], "schema": _changed(state.views[key]["schema"], body["changes"])}
    return state.views[key]


def _changed(schema: Json, changes: list[Json]) -> Json:
    dialects, options, comment = (
        dict(schema.get("dialects") or {}),
        dict(schema.get("options") or {}),
        schema["comment"],
    )
    for change in changes:
        dialect = change.get("dialect", "")
        match change["action"]:
            case "addDialect" if dialect in dialects:
                raise taken("DIALECT", dialect)
            case "updateDialect" | "dropDialect" if dialect not in dialects:
                raise missing("DIALECT", dialect)
            case "addDialect" | "updateDialect":
                dialects[dialect] = change["query"]
            case "dropDialect":
                del dialects[dialect]
            case "setOption":
                options[change["key"]] = change["value"]
            case "removeOption":
                options.pop(change["key"], None)
            case "updateComment":
                comment = change["comment"]
    return {**schema, "dialects": dialects, "options": options, "comment": comment}


def rename_view(state: State, body: Json) -> None:
    """POST ``/views/rename``."""
    ends: list[Name] = [(body[end]["database"], body[end]["object"]) for end in ("source", "destination")]
    source, target = ends
    if source not in state.views:
        raise missing("VIEW", source[1])
    state.check_database(target[0])
    if target in state.views or target in state.tables:
        raise taken("VIEW", target[1])
    state.views[target] = {**state.views.pop(source), "name": target[1]}


def functions(state: State, method: str, database: str, rest: list[str], body: Json, query: Any) -> Json:
    """``.../functions``, ``.../functions/<function>``."""
    state.check_database(database)
    if not rest and method == "GET":
        return page("functions", ((n, n) for d, n in state.functions if d == database), query, state.page_size)
    key = (database, rest[0] if rest else body["name"])
    if not rest:
        if key in state.functions:
            raise taken("FUNCTION", key[1])
        state.functions[key] = {"uuid": str(uuid.uuid4()), **body, **AUDIT}
        return {}
    if key not in state.functions:
        raise missing("FUNCTION", key[1])
    if method == "DELETE":
        del state.functions[key]
        return {}
    if method == "POST":
        state.functions[key] = _changed_function(state.functions[key], body["changes"])
        return {}
    return state.functions[key]


def _changed_function(function: Json, changes: list[Json]) -> Json:
    definitions, options, comment = dict(function["definitions"]), dict(function["options"]), function["comment"]
    for change in changes:
        name = change.get("name", "")
        match change["action"]:
            case "addDefinition" if name in definitions:
                raise taken("DEFINITION", name)
            case "updateDefinition" | "dropDefinition" if name not in definitions:
                raise missing("DEFINITION", name)
            case "addDefinition" | "updateDefinition":
                definitions[name] = change["definition"]
            case "dropDefinition":
                del definitions[name]
            case "setOption":
                options[change["key"]] = change["value"]
            case "removeOption":
                options.pop(change["key"], None)
            case "updateComment":
                comment = change["comment"]
            case other:
                raise Failure(400, None, None, f"no change of a function: {other}")
    return {**function, "definitions": definitions, "options": options, "comment": comment}
