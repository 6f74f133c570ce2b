"""``paimon-spark ui``: a page in the browser that shows the tables of a catalog, or one table.

A server on the loopback answers the page with facts as JSON, which the page draws: its HTML, style and script are files
beside the modules. Plotly draws the charts. It and the server are an extra.

May import: ``cli``, ``catalogs.factory``. No Spark.
Libraries: ``typer``; ``plotly``, ``starlette``, ``uvicorn`` in ``server``.
Invariant: nothing is written, and only who has the token of the address gets an answer.
"""
