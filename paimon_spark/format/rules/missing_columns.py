"""How the columns of rows may differ from those of the table that a write brings them to.

Columns that the rows lack are filled (the write option `write.missing-columns`); others change the schema.
"""

from __future__ import annotations

from dataclasses import dataclass

ERROR, NULL, DEFAULT = "error", "null", "default"
MISSING_COLUMNS = (ERROR, NULL, DEFAULT)


@dataclass(frozen=True)
class Merging:
    """What rows may do to the schema of a table that they are written to.

    Attributes:
        type_widening: a column takes the type of the rows where every value that it has fits that.
        explicit_cast: it takes that type also where values may lose information; needs type_widening.
        case_sensitive: False: columns meet in any letter case.
    """

    type_widening: bool = False
    explicit_cast: bool = False
    case_sensitive: bool = False
