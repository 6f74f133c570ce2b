"""Streams into tables in a Connect session. Run by test_streams_on_connect."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from paimon_spark import PaimonTable, open_table
from support.programs.connect_session import session_on_a_free_port


def commits(path: str) -> list[tuple[int, str]]:
    store = open_table(path).snapshots
    return [(s.commit_identifier, s.commit_user) for s in map(store.load, store.ids()) if s.commit_kind != "COMPACT"]


def replayed(checkpoint: Path) -> str:
    """Makes Spark forget its last batch; the id of the query."""
    for name in ("1", ".1.crc"):
        (checkpoint / "commits" / name).unlink()
    query = json.loads((checkpoint / "metadata").read_text())["id"]
    assert isinstance(query, str)
    return query


def main(lake: str) -> None:
    spark = session_on_a_free_port()
    for name in ("plain", "shuffled"):
        events, checkpoint, path = Path(lake, "in", name), Path(lake, "ck", name), f"{lake}/{name}"
        events.mkdir(parents=True)
        for number in range(2):
            rows = (json.dumps({"id": i, "v": number}) for i in range(number * 5, number * 5 + 5))
            (events / f"{number}.json").write_text("\n".join(rows))
        made = PaimonTable.create(spark).location(path).addColumn("id", "BIGINT NOT NULL").addColumn("v", "BIGINT")
        table = made.primaryKey("id").property("bucket", "1").execute()

        def run(name: str = name, events: Path = events, checkpoint: Path = checkpoint) -> None:
            stream = spark.readStream.schema("id long, v long").option("maxFilesPerTrigger", "1").json(str(events))
            if name == "plain":
                writer = stream.writeStream.format("paimon").option("checkpointLocation", str(checkpoint))
                query = writer.trigger(availableNow=True).start(f"{lake}/{name}")
            else:
                writer = table.write_stream(stream, checkpoint=str(checkpoint)).outputMode("update")  # noqa: B023
                query = writer.trigger(availableNow=True).start()
            query.awaitTermination()

        run()
        query = replayed(checkpoint)
        run()
        assert commits(path) == [(0, f"spark-{query}"), (1, f"spark-{query}")], commits(path)
        assert sorted(row.id for row in table.toDF().collect()) == list(range(10))
        shutil.rmtree(checkpoint)
    assert [table.append(table.toDF(), once=("again", 1)).repeated for _ in range(2)] == [False, True]
    print("streams are as they should be")


if __name__ == "__main__":
    main(*sys.argv[1:])
