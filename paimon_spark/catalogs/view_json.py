"""Views as JSON, in the catalogs that store them so (Java: ViewSchema, in JDBC catalogs and in the REST protocol)."""

from __future__ import annotations

from typing import Any

from paimon_spark.catalogs.views import View
from paimon_spark.errors import CorruptFile, SchemaError
from paimon_spark.format.json_text import format_json, parse_json_object
from paimon_spark.format.type_text import format_field, parse_field


def encode_view(view: View) -> str:
    """The JSON of a view."""
    json: dict[str, Any] = {
        "fields": [format_field(field) for field in view.fields],
        "query": view.query,
        "dialects": dict(view.dialects),
        "options": dict(view.options),
    }
    if view.comment is not None:
        json["comment"] = view.comment
    return format_json(json)


def decode_view(data: bytes, where: str) -> View:
    """The view in a JSON; where names it in errors.

    Raises:
        CorruptFile: it is not the JSON of a view.
        UnsupportedFeature: a column has a type that is newer than this release.
    """
    json = parse_json_object(data, where)
    try:
        fields = tuple(parse_field(field) for field in json.array("fields"))
    except SchemaError as error:
        raise CorruptFile(f"cannot read {where}: {error}") from None
    return View(
        fields,
        json.text("query"),
        json.optional_text_map("dialects") or {},
        json.optional_text("comment"),
        json.optional_text_map("options") or {},
    )
