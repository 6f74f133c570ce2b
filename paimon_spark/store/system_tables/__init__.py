"""What a table tells of itself, as tables (features 1.6; Java: package org.apache.paimon.table.system).

May import: ``store.scan`` and what lies below.
Invariant: columns and values are those of the official system, but for times that are shown as instants on request.
"""
