"""How much tests try: everything where ``PAIMON_LONG=1``, which takes hours, else what CI has time for."""

from __future__ import annotations

import os

LONG = os.environ.get("PAIMON_LONG") == "1"
