"""pypaimon-rust as a second opinion: it reads tables of ours by its own code."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pypaimon_rust.datafusion as rust
from support.oracles.comparing import Row, comparable


def rust_read(path: str) -> Counter[Row]:
    """All rows of the table directory <warehouse>/<database>.db/<name>."""
    place = Path(path)
    catalog = rust.PaimonCatalog({"warehouse": f"file:{place.parents[1]}"})
    builder = catalog.get_table(f"{place.parent.name.removesuffix('.db')}.{place.name}").new_read_builder()
    batches = list(builder.new_read().read_arrow(builder.new_scan().plan().splits()))
    return comparable(pa.Table.from_batches(batches)) if batches else Counter()
