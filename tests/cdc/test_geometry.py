"""Geometries as GeoJSON."""

from __future__ import annotations

import struct

import pytest

from paimon_spark.cdc.geometry import geo_json, mysql_geo_json


def wkb(kind: int, body: bytes, order: str = "<") -> bytes:
    return struct.pack(f"{order}BI", order == "<", kind) + body


def points(*numbers: float, order: str = "<") -> bytes:
    return struct.pack(f"{order}{len(numbers)}d", *numbers)


def counted(count: int, body: bytes) -> bytes:
    return struct.pack("<I", count) + body


POINT = wkb(1, points(1, 2.5))
LINE = wkb(2, counted(2, points(0, 0, 1, 1)))
POLYGON = wkb(3, counted(1, counted(4, points(0, 0, 1, 0, 1, 1, 0, 0))))
REFERRED = wkb(1 | 0x20000000, struct.pack("<I", 4326) + points(1, 2))
RING = "[[[0,0],[1,0],[1,1],[0,0]]]"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (POINT, '{"coordinates":[1,2.5],"type":"Point","srid":0}'),
        (wkb(1, points(1, 2.5, order=">"), ">"), '{"coordinates":[1,2.5],"type":"Point","srid":0}'),
        (LINE, '{"coordinates":[[0,0],[1,1]],"type":"LineString","srid":0}'),
        (POLYGON, f'{{"coordinates":{RING},"type":"Polygon","srid":0}}'),
        (wkb(4, counted(2, POINT + POINT)), '{"coordinates":[[1,2.5],[1,2.5]],"type":"MultiPoint","srid":0}'),
        (wkb(5, counted(1, LINE)), '{"coordinates":[[[0,0],[1,1]]],"type":"MultiLineString","srid":0}'),
        (wkb(6, counted(1, POLYGON)), f'{{"coordinates":[{RING}],"type":"MultiPolygon","srid":0}}'),
        (
            wkb(7, counted(1, POINT)),
            '{"geometries":[{"type":"Point","coordinates":[1,2.5]}],"type":"GeometryCollection","srid":0}',
        ),
        (
            wkb(1 | 0x20000000, struct.pack("<I", 4326) + points(1, 2)),
            '{"coordinates":[1,2],"type":"Point","srid":4326}',
        ),
    ],
)
def test_geometries(data: bytes, text: str) -> None:
    assert geo_json(data) == text
    assert mysql_geo_json(bytes(4) + data) == text


def test_the_reference_system_of_mysql() -> None:
    assert mysql_geo_json(struct.pack("<I", 4326) + POINT).endswith('"srid":4326}')


@pytest.mark.parametrize("data", [b"", POINT[:-1], wkb(9, b""), LINE[:12]])
def test_bytes_that_are_no_geometry(data: bytes) -> None:
    with pytest.raises(ValueError, match="geometry"):
        geo_json(data)
