"""Runs a program from standard input, and prints its `per_day` as JSON: rows of date and spend, both as texts."""

import json
import sys

import pyarrow as pa

names = {}
exec(sys.stdin.read(), names)
per_day = names["per_day"]
if not isinstance(per_day, pa.Table):
    # A frame of polars or pandas.
    per_day = per_day.to_arrow() if hasattr(per_day, "to_arrow") else pa.Table.from_pandas(per_day)
print(json.dumps([[str(row["date"])[:10], *(str(row[name]) for name in row if name != "date")] for row in per_day.to_pylist()]))
