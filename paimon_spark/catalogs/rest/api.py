"""The calls of the REST protocol, as Java's client makes them (features 9.4; Java: RESTApi).

Values are JSON objects with Java's names; catalogs make values of ours of them.
"""

from __future__ import annotations

from paimon_spark.catalogs.rest.auth import signer
from paimon_spark.catalogs.rest.history_calls import HistoryCalls
from paimon_spark.catalogs.rest.http import HttpClient
from paimon_spark.catalogs.rest.object_calls import ObjectCalls
from paimon_spark.catalogs.rest.options import PREFIX, WAREHOUSE, RestOptions
from paimon_spark.catalogs.rest.paths import CONFIG, Paths
from paimon_spark.catalogs.rest.table_calls import TableCalls


class RestApi(TableCalls, HistoryCalls, ObjectCalls):
    """One server, asked with the credentials of one catalog; safe to use from several threads.

    Attributes:
        options: those of the catalog with those of the server.

    Every call raises, besides what it says:
        NotReached, NoAnswer: the server was not reached, or did not answer.
        Denied: the credentials are not taken, or permit too little.
        Refused: the server refuses: something is missing, or there already, or not supported.
    """

    def __init__(self, options: RestOptions) -> None:
        """options: as given; the server is asked for its own unless they are merged already."""
        sign = signer(options)
        if not options.merged:
            first = HttpClient(
                options.base, options.shown_uri, lambda r: {**options.headers, **sign(r)}, options.secrets
            )
            warehouse = options.get(WAREHOUSE)
            config = first.get(CONFIG, {} if warehouse is None else {WAREHOUSE: warehouse})
            options = options.with_server(config.get("defaults") or {}, config.get("overrides") or {})
        self.options = options
        headers = options.headers
        http = HttpClient(options.base, options.shown_uri, lambda r: {**headers, **sign(r)}, options.secrets)
        super().__init__(http, Paths(options.get(PREFIX)))
