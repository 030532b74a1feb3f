"""Works out from the raw files and the manifests of a bucket what the product says about its days, and
compares the two. It shares no code with the product, and no SQL. TABLES.md and REQUESTS.md have the rules.

Takes the bucket's folder and the file of the config, and on standard input what `query --json` says to each
of QUERIES, a line each. Prints as JSON how much it compared. Fails and prints what differs, or if the folder
lacks one of the things that are counted."""

import csv
import json
import math
import sys
from collections import defaultdict
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path, PurePosixPath

FOLDER = Path(sys.argv[1])
CONFIG = json.loads(Path(sys.argv[2]).read_text())
QUERIES = ("finality", "days", "curve", "reconciliation")
FINAL_AFTER_DAYS = 6
# The curve has days that a report showed at this age at the latest, and says nothing about fewer days.
EARLY = 2
ENOUGH_DAYS = 28
# `rows` is no metric of the platform.
NOT_COMPARED = {"reach", "rows"}


def time(text):
    """A time in UTC, of a manifest or of a query."""
    return datetime.fromisoformat(text.removesuffix("Z"))


def read_rows(path):
    text = path.read_text()
    if path.suffix == ".csv":
        return csv.DictReader(text.splitlines())
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def add_up(key, manifest):
    """The number of rows and the sum of each metric, by day. A day without rows has zeros."""
    metrics = manifest["export_request"]["metrics"]
    first, end = (date.fromisoformat(manifest[name]) for name in ("start_date", "end_date"))
    days = [first + timedelta(each) for each in range((end - first).days)]
    sums = {day: dict.fromkeys(["rows", *metrics], Decimal(0)) for day in days}
    for row in read_rows(FOLDER / key):
        day = sums[date.fromisoformat(row["date"])]
        day["rows"] += 1
        for metric in metrics:
            day[metric] += Decimal(row[metric])
    return sums


class Day:
    """What reports said about one day of a table."""

    def __init__(self, day, account):
        default = CONFIG.get("final_after_days", FINAL_AFTER_DAYS)
        self.day = day
        self.final_after_days = CONFIG["accounts"][account].get("final_after_days", default)
        # In the order of their arrival. The table takes none of another request.
        self.arrived = []
        # The reports that the day showed, one after the other.
        self.shown = []

    def add(self, report):
        self.arrived.append(report)
        counting = [each for each in self.arrived if each["values"]["rows"] > 0 or each["accept_empty"]]
        now = max(counting or self.arrived, key=lambda each: each["order"])
        if not self.shown or now is not self.shown[-1]:
            self.shown.append(now)

    def judge(self, today):
        """The facts that each row of the day has in `days`."""
        now = self.shown[-1]
        changed = [
            each
            for before, each in zip([None, *self.shown], self.shown)
            if before is None or before["values"] != each["values"]
        ][-1]
        by_age = sorted(self.arrived, key=lambda each: each["order"])
        changes = [
            each["created"].date()
            for before, each in zip([None, *by_age], by_age)
            if before is None or before["values"] != each["values"]
        ]
        since = max([self.day + timedelta(1), *changes])
        is_held = by_age[-1] is not now
        if not is_held and (now["created"].date() - since).days >= self.final_after_days:
            finality = "final"
        else:
            finality = "changing" if (today - since).days < self.final_after_days else "unverified"
        return {
            "report_id": now["id"],
            "report_created_at": now["created"],
            "changed_at": changed["copied"],
            "held": is_held,
            "same_since": since,
            "finality": finality,
        }

    def reads(self):
        """The age in days and the values of each report that the day showed after it was over."""
        ages = [((each["created"].date() - self.day).days, each["values"]) for each in self.shown]
        return [(age, values) for age, values in ages if age > 0]


def curve(final):
    """The points of a table and account: the metric and the age of each, and the other columns."""
    early = [reads for reads in (day.reads() for day in final) if reads[0][0] <= EARLY]
    for age in {age for reads in early for age, _ in reads}:
        known = [reads for reads in early if reads[0][0] <= age]
        for metric in known[0][0][1]:
            then = [[values[metric] for at, values in reads if at <= age][-1] for reads in known]
            first = [reads[0][1][metric] for reads in known]
            last = [reads[-1][1][metric] for reads in known]
            to_come = sum(abs(end - value) for end, value in zip(last, then))
            change = sum(abs(end - value) for end, value in zip(last, first))
            is_enough = len(known) >= ENOUGH_DAYS
            yield (metric, age), {
                "days": len(known),
                "share": float(sum(then) / sum(last)) if is_enough and sum(last) else None,
                "caught": float(1 - to_come / change) if is_enough and change else None,
            }


def read_total(manifest):
    """The platform's own total that the same execution brought, by day."""
    path = FOLDER / PurePosixPath(manifest["key"]).parent / "total" / "_manifest.json"
    total = json.loads(path.read_text()) if path.exists() else {"execution": None}
    return add_up(total["key"], total) if total["execution"] == manifest["execution"] else {}


def read_days(manifests):
    """The days by table and account, and by date, and the number of windows that the tables leave out."""
    tables = defaultdict(dict)
    left_out = 0
    for manifest in sorted(manifests, key=lambda each: each["copied_at"]):
        account, request = manifest["account"], manifest["export_request"]
        sums = add_up(manifest["key"], manifest)
        total = read_total(manifest)
        created = time(manifest["report_created_at"])
        # One with other advertisers is another request.
        if request["advertiser_ids"] != CONFIG["accounts"][account]["advertiser_ids"]:
            left_out += 1
            continue
        for day, values in sums.items():
            report = {
                "id": manifest["report_id"],
                "created": created,
                "order": (created, manifest["report_id"]),
                "copied": time(manifest["copied_at"]),
                "accept_empty": request["accept_empty"],
                "values": values,
                "total": total.get(day),
            }
            tables[manifest["export"], account].setdefault(day, Day(day, account)).add(report)
    return tables, left_out


def work_out(manifests):
    """What the queries should say: for each of them, the other columns by the columns of the key."""
    today = datetime.now(timezone.utc).date()
    found = {name: {} for name in QUERIES}
    tables, left_out = read_days(manifests)
    for table, days in tables.items():
        final = []
        for day in (each for each in days.values() if each.shown):
            facts = day.judge(today)
            if facts["finality"] == "final":
                final.append(day)
            columns = ("finality", "same_since", "report_created_at")
            found["finality"][*table, day.day] = {name: facts[name] for name in columns}
            now = day.shown[-1]
            for metric, value in now["values"].items():
                found["days"][*table, day.day, metric] = {"value": value} | facts
                if now["total"] and metric not in NOT_COMPARED:
                    total = now["total"][metric]
                    sums = {"rows_sum": value, "platform_total": total, "difference": value - total}
                    report = {"report_id": now["id"], "report_created_at": now["created"]}
                    found["reconciliation"][*table, day.day, metric] = sums | report
        found["curve"] |= {(*table, *point): values for point, values in curve(final)}
    return found, left_out


def read_answer(answer):
    """The rows of a query's answer, as work_out has them."""
    types = {column["name"]: column["type"] for column in answer["columns"]}
    keys = [name for name in ("table_name", "account", "date", "metric", "age") if name in types]
    rows = [{name: typed(value, types[name]) for name, value in row.items()} for row in answer["rows"]]
    found = {tuple(row.pop(name) for name in keys): row for row in rows}
    assert len(found) == len(rows), "several rows have the same key"
    return found


def typed(value, kind):
    types = {"VARCHAR": str, "BOOLEAN": bool, "DATE": date.fromisoformat, "TIMESTAMP": time, "DOUBLE": float}
    return None if value is None else types.get(kind, Decimal)(value)


def differences(found):
    for name, line in zip(QUERIES, sys.stdin, strict=True):
        said = read_answer(json.loads(line))
        for key in sorted(said.keys() | found[name].keys(), key=str):
            ours, theirs = found[name].get(key, {}), said.get(key, {})
            for column in ours.keys() | theirs.keys():
                right, value = ours.get(column, "absent"), theirs.get(column, "absent")
                are_floats = isinstance(right, float) and isinstance(value, float)
                if not (math.isclose(right, value, abs_tol=1e-9) if are_floats else right == value):
                    yield f"{name} {' '.join(map(str, key))}: {column} is {value} instead of {right}"


manifests = [json.loads(path.read_text()) for path in FOLDER.glob("exports/*/*/*/*/_manifest.json")]
found, left_out = work_out(manifests)
wrong = list(differences(found))
if wrong:
    sys.exit("\n".join([f"{len(wrong)} differences, such as:", *wrong[:20]]))
counts = {"windows": len(manifests), "windows left out": left_out} | {name: len(rows) for name, rows in found.items()}
words = [row["finality"] for row in found["finality"].values()]
counts |= {word: words.count(word) for word in ("final", "changing", "unverified")}
counts["held"] = sum(row["held"] for row in found["days"].values())
counts["points with a share"] = sum(each["caught"] is not None for each in found["curve"].values())
counts["totals that differ"] = sum(each["difference"] != 0 for each in found["reconciliation"].values())
print(json.dumps(counts))
if 0 in counts.values():
    sys.exit("nothing differs, but the folder of this seed lacks one of these: take another one")
