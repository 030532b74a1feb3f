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
FINAL_AFTER_DAYS = 7
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


def differs(one, other):
    """Whether two reports say different values of a metric that both have."""
    both = one["values"].keys() & other["values"].keys()
    return any(one["values"][name] != other["values"][name] for name in both)


class Day:
    """What reports said about one day of a table, in the order of their arrival."""

    def __init__(self, day, account):
        default = CONFIG.get("final_after_days", FINAL_AFTER_DAYS)
        self.day = day
        self.final_after_days = CONFIG["accounts"][account].get("final_after_days", default)
        # The reports that the day showed, one after the other, the others, and the newest one of all.
        self.shown = []
        self.others = []
        self.newest = None

    def add(self, report, is_configured):
        before = self.shown[-1] if self.shown else None
        is_emptied = before and before["values"]["rows"] > 0 and report["values"]["rows"] == 0
        if not is_configured:
            report["outcome"] = "not written"
        elif before and report["order"] < before["order"]:
            report["outcome"] = "kept"
        elif is_emptied and not report["accept_empty"]:
            report["outcome"] = "held"
        else:
            self.shown.append(report)
            report["outcome"] = "shown"
        if report["outcome"] != "shown":
            self.others.append(report)
        if self.newest is None or report["order"] > self.newest["order"]:
            self.newest = report

    def judge(self, today):
        """The facts that each row of the day has in `days`."""
        now = self.shown[-1]
        # The first of the reports that have said the same ever since.
        others = [at for at, each in enumerate(self.shown) if each["values"] != now["values"]]
        since = others[-1] + 1 if others else 0
        changed = self.shown[since]
        ended = self.day + timedelta(1)
        moved = max(ended, changed["created"].date()) if since > 0 else ended
        disputed = max((each["created"] for each in self.others if differs(each, now)), default=datetime.min)
        reports = [each for each in self.shown[since:] if each["created"] > disputed]
        same = [each["created"] for each in reports if each["created"].date() >= ended]
        days = (now["created"].date() - same[0].date()).days if same else -1
        if self.newest is now and days >= self.final_after_days:
            finality = "final"
        else:
            finality = "changing" if (today - moved).days < self.final_after_days else "unverified"
        return {
            "report_id": now["id"],
            "report_created_at": now["created"],
            "changed_at": changed["copied"],
            "outcome": self.newest["outcome"],
            "same_since": same[0] if same else None,
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
    """The days by table and account, and by date."""
    tables = defaultdict(dict)
    for manifest in sorted(manifests, key=lambda each: each["copied_at"]):
        account, request = manifest["account"], manifest["export_request"]
        sums = add_up(manifest["key"], manifest)
        total = read_total(manifest)
        created = time(manifest["report_created_at"])
        # One with other advertisers is another request.
        is_configured = request["advertiser_ids"] == CONFIG["accounts"][account]["advertiser_ids"]
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
            tables[manifest["export"], account].setdefault(day, Day(day, account)).add(report, is_configured)
    return tables


def work_out(manifests):
    """What the queries should say: for each of them, the other columns by the columns of the key."""
    published = [datetime.fromisoformat(each["published_at"]) for each in manifests]
    today = max(datetime.now(timezone.utc), *published).date()
    found = {name: {} for name in QUERIES}
    for table, days in read_days(manifests).items():
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
    return found


def read_answer(answer):
    """The rows of a query's answer, as work_out has them."""
    types = {column["name"]: column["type"] for column in answer["columns"]}
    keys = [name for name in ("table_name", "account", "date", "metric", "age") if name in types]
    rows = [{name: typed(value, types[name]) for name, value in row.items()} for row in answer["rows"]]
    found = {tuple(row.pop(name) for name in keys): row for row in rows}
    assert len(found) == len(rows), "several rows have the same key"
    return found


def typed(value, kind):
    types = {"VARCHAR": str, "DATE": date.fromisoformat, "TIMESTAMP": time, "DOUBLE": float}
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
found = work_out(manifests)
wrong = list(differences(found))
if wrong:
    sys.exit("\n".join([f"{len(wrong)} differences, such as:", *wrong[:20]]))
counts = {"windows": len(manifests)} | {name: len(rows) for name, rows in found.items()}
words = [row["finality"] for row in found["finality"].values()]
words += [row["outcome"] for row in found["days"].values()]
counts |= {word: words.count(word) for word in ("final", "changing", "unverified", "held", "not written")}
counts["points with a share"] = sum(each["caught"] is not None for each in found["curve"].values())
counts["totals that differ"] = sum(each["difference"] != 0 for each in found["reconciliation"].values())
print(json.dumps(counts))
if 0 in counts.values():
    sys.exit("nothing differs, but the folder of this seed lacks one of these: take another one")
