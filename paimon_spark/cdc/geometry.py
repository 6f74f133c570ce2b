"""Geometries of MySQL and Debezium as GeoJSON, laid out as Java does (Java: MySqlTypeUtils.convertWkbArray)."""

from __future__ import annotations

import json
import struct
from typing import Any

_KINDS = {1: "Point", 2: "LineString", 3: "Polygon", 4: "MultiPoint", 5: "MultiLineString", 6: "MultiPolygon",
          7: "GeometryCollection"}  # fmt: skip
_HAS_SRID = 0x20000000


class _Bytes:
    """Well-known binary, read from its beginning on."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        found = struct.unpack_from(layout, self._data, self._position)
        self._position += struct.calcsize(layout)
        return found


def geo_json(wkb: bytes, srid: int = 0) -> str:
    """The GeoJSON text of a geometry, with the member ``srid``.

    Args:
        wkb: well-known binary, also extended by a reference system.
        srid: the reference system, unless the bytes tell one.

    Raises:
        ValueError: it is no such geometry.
    """
    try:
        geometry, own_srid = _geometry(_Bytes(wkb))
    except struct.error:
        raise ValueError("the bytes of the geometry end too early") from None
    content = "geometries" if "geometries" in geometry else "coordinates"
    ordered = {content: geometry[content], "type": geometry["type"], "srid": own_srid or srid}
    return json.dumps(ordered, separators=(",", ":"))


def mysql_geo_json(data: bytes) -> str:
    """The GeoJSON text of a geometry in MySQL's inner form: four bytes of the reference system, then the geometry."""
    if len(data) < 5:
        raise ValueError("the bytes of the geometry end too early")
    return geo_json(data[4:], int.from_bytes(data[:4], "little"))


def _geometry(data: _Bytes) -> tuple[dict[str, Any], int]:
    order = "<" if data.take("B")[0] else ">"
    (code,) = data.take(f"{order}I")
    srid = data.take(f"{order}I")[0] if code & _HAS_SRID else 0
    kind = _KINDS.get(code & ~_HAS_SRID)
    if kind is None:
        raise ValueError(f"a geometry of type {code} is not known")
    if kind == "Point":
        return {"type": kind, "coordinates": _point(data, order)}, srid
    (count,) = data.take(f"{order}I")
    if kind == "LineString":
        return {"type": kind, "coordinates": [_point(data, order) for _ in range(count)]}, srid
    if kind == "Polygon":
        return {"type": kind, "coordinates": [_ring(data, order) for _ in range(count)]}, srid
    parts = [_geometry(data)[0] for _ in range(count)]
    if kind == "GeometryCollection":
        return {"type": kind, "geometries": parts}, srid
    return {"type": kind, "coordinates": [part["coordinates"] for part in parts]}, srid


def _ring(data: _Bytes, order: str) -> list[list[float]]:
    (count,) = data.take(f"{order}I")
    return [_point(data, order) for _ in range(count)]


def _point(data: _Bytes, order: str) -> list[float]:
    """A whole number without a fraction, as Java writes it."""
    return [int(number) if number.is_integer() else number for number in data.take(f"{order}2d")]
