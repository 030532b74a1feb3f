"""Adds up each metric of a table per day with DuckDB and with pyarrow, and prints both results as one line of JSON.

Arguments: the folder of the table, then the metrics. Numbers are texts, so that no digit is lost.
"""

import json
import sys

import duckdb
import pyarrow as pa
import pyarrow.dataset

folder, *metrics = sys.argv[1:]


def with_duckdb():
    sums = ", ".join(f'sum("{metric}")' for metric in metrics)
    rows = duckdb.sql(
        f"""SELECT account, date, count(*), {sums}
            FROM read_parquet('{folder}/**/*.parquet', hive_partitioning = true, union_by_name = true,
                              hive_types = {{account: VARCHAR, date: DATE}})
            GROUP BY account, date ORDER BY account, date"""
    ).fetchall()
    return [[str(value) for value in row] for row in rows]


def with_pyarrow():
    keys = pa.schema([("account", pa.string()), ("date", pa.date32())])
    partitioning = pa.dataset.partitioning(keys, flavor="hive")
    table = pa.dataset.dataset(folder, partitioning=partitioning).to_table()
    sums = [([], "count_all")] + [(metric, "sum") for metric in metrics]
    by_day = table.group_by(["account", "date"]).aggregate(sums).sort_by([("account", "ascending"), ("date", "ascending")])
    columns = ["account", "date", "count_all", *(f"{metric}_sum" for metric in metrics)]
    return [[str(row[column]) for column in columns] for row in by_day.to_pylist()]


print(json.dumps({"duckdb": with_duckdb(), "pyarrow": with_pyarrow()}))
