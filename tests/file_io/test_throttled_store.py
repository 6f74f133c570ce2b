"""A store that has too much to do (503 SlowDown, 429) makes work slow and no work fail."""

from __future__ import annotations

from collections import Counter
from uuid import uuid4

import pyarrow as pa
import pytest
from support.oracles.checker import check_table
from support.servers.builds import ServerUnavailable
from support.servers.recorded import recorded
from support.servers.storage import RunningServers

from paimon_spark import create_table, expire_snapshots, open_table

pytestmark = pytest.mark.server


def test_every_operation_is_done(storage_servers: RunningServers) -> None:
    """Each third request is refused."""
    try:
        server = storage_servers.get("versitygw")
    except ServerUnavailable as reason:
        pytest.skip(str(reason))
    with recorded(server, throttled=3) as recorder:
        location, options = f"{server.root}/{uuid4().hex}/d.db/t", dict(recorder.server.options)
        table = create_table(location, {"id": "BIGINT", "v": "STRING"}, "id", options={"bucket": "2", **options})
        for turn in range(3):
            ids = range(turn * 50, turn * 50 + 100)
            table.append(pa.table({"id": ids, "v": [f"{turn}-{number}" for number in ids]}))
        assert table.delete("id = 7").rows_deleted == 1
        table.compact()
        table.append(pa.table({"id": [1000], "v": ["last"]}))
        expire_snapshots(open_table(location, options), retain_max=1, retain_min=1, older_than=2**62)
        found = open_table(location, options).scan().to_arrow()
        wanted = {number: f"{min(number // 50, 2)}-{number}" for number in range(200) if number != 7}
        assert dict(zip(*found.to_pydict().values(), strict=True)) == {**wanted, 1000: "last"}
        statuses = Counter(request.status for request in recorder.since_last())
        assert statuses[503] >= 5, statuses
        assert statuses[429] >= 5, statuses
    check_table(location, server.options)
