"""Parses each of the queries on standard input, a JSON list, as Trino and as Athena. Fails on the first one that is no single query."""

import json
import sys

import sqlglot

for sql in json.load(sys.stdin):
    for dialect in ("trino", "athena"):
        statements = sqlglot.parse(sql, dialect=dialect, error_level=sqlglot.ErrorLevel.RAISE)
        assert [isinstance(each, sqlglot.exp.Query) for each in statements] == [True], sql
