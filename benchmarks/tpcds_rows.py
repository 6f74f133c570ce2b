"""Makes the tables and texts of TPC-DS by DuckDB and its extension: ``python tpcds_rows.py FOLDER SCALE``.

The texts are those of the extension with two changes. Names are quoted by backticks, as Spark has it. Where ``LIMIT``
chooses rows of an order, all columns follow in it, so that the chosen rows do not depend on who reads first.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import duckdb
import duckdb_extension_tpcds
import sqlglot

CHOSEN = re.compile(r"\s+LIMIT \d+\s*$", re.IGNORECASE)


def text_for_spark(database: duckdb.DuckDBPyConnection, text: str) -> str:
    text = text.strip().removesuffix(";")
    if (limit := CHOSEN.search(text)) and sqlglot.parse_one(text, read="duckdb").args.get("order"):
        columns = len(database.execute(f"DESCRIBE {text}").fetchall())
        text = ", ".join([text[: limit.start()], *map(str, range(1, columns + 1))]) + limit.group()
    return text.replace('"', "`")


def main(folder: Path, scale: float) -> None:
    (extension,) = Path(duckdb_extension_tpcds.__file__).parent.glob("extensions/*/*.duckdb_extension")
    folder.mkdir(parents=True)
    rows = folder / "tpcds.duckdb"
    database = duckdb.connect(str(rows))
    database.execute(f"LOAD '{extension}'")
    database.execute(f"CALL dsdgen(sf={scale:g})")
    for (table,) in database.execute("SELECT table_name FROM information_schema.tables").fetchall():
        (folder / "parquet" / table).mkdir(parents=True)
        database.execute(f"COPY {table} TO '{folder}/parquet/{table}/rows.parquet'")
    texts = database.execute("SELECT query_nr, query FROM tpcds_queries() ORDER BY 1").fetchall()
    by_number = {number: text_for_spark(database, text) for number, text in texts}
    (folder / "texts.json").write_text(json.dumps(by_number), "utf-8")
    database.close()
    rows.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
