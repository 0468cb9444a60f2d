#!/usr/bin/env python3
"""Cuts small seeds for a fuzzer from the real files, where they are: seeds.py NAME FOLDER."""
import gzip
import json
import os
import sqlite3
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get("KVET_DATA", os.path.join(ROOT, "..", "shared", "data"))


def kineto(folder):
    """A trace with its head, and the first two events of each kind; as JSON and as gzip."""
    for name in sorted(os.listdir(DATA)):
        if not (name.startswith("kineto") and name.endswith(".json.gz")):
            continue
        with gzip.open(os.path.join(DATA, name)) as file:
            trace = json.load(file)
        kinds = {}
        for event in trace["traceEvents"]:
            kind = event.get("ph"), event.get("cat"), event["name"] if event.get("cat") in ("cuda_runtime", None) else ""
            kinds.setdefault(kind, []).append(event)
        events = [event for some in kinds.values() for event in some[:2] if len(json.dumps(event)) < 2000]
        events += [event for event in trace["traceEvents"] if event["name"] == "record_param_comms"][:2]
        head = {key: value for key, value in trace.items() if key != "traceEvents" and len(json.dumps(value)) < 4000}
        for part in range(0, len(events), 8):
            text = json.dumps({**head, "traceEvents": events[part:part + 8]}).encode()
            write(folder, f"{name}.{part}.json", text)
            if part == 0:
                write(folder, f"{name}.{part}.json.gz", gzip.compress(text))
                write(folder, f"{name}.ranks", text + b"\xff" + text.replace(b'"rank": 0', b'"rank": 1'))


def nsys(folder):
    """Each real export with a few rows of each table, without what belongs to no importer."""
    for name in sorted(os.listdir(DATA)):
        if not (name.startswith("nsys") and name.endswith(".sqlite")):
            continue
        path = os.path.join(folder, name)
        if os.path.exists(path):
            os.remove(path)
        small = sqlite3.connect(f"file:{path}", uri=True)
        small.execute("PRAGMA page_size = 512")
        small.execute("ATTACH ? AS whole", (f"file:{os.path.join(DATA, name)}?immutable=1",))
        for table, sql in small.execute("SELECT name, sql FROM whole.sqlite_schema WHERE type = 'table'").fetchall():
            if not table.startswith(("ENUM", "META", "TARGET_INFO_SYSTEM", "SAMPLING", "OSRT", "COMPOSITE", "ANALYSIS")):
                small.execute("\n".join(line.split("--")[0] for line in sql.splitlines()))
                small.execute(f"INSERT INTO main.{table} SELECT * FROM whole.{table} LIMIT 6")
        small.execute("INSERT OR IGNORE INTO main.StringIds SELECT id, substr(value, 1, 60) FROM whole.StringIds WHERE id IN "
                      "(SELECT mangledName FROM main.CUPTI_ACTIVITY_KIND_KERNEL UNION SELECT nameId FROM main.CUPTI_ACTIVITY_KIND_RUNTIME)")
        small.commit()
        small.close()


def ncu(folder):
    """The headings and each ten lines of the real details page."""
    with open(os.path.join(DATA, "ncu_copy_blocked.csv"), "rb") as file:
        lines = file.read().splitlines(keepends=True)
    for part in range(1, len(lines), 10):
        write(folder, f"details.{part}.csv", b"".join([lines[0], *lines[part:part + 10]]))


def write(folder, name, content):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)


if __name__ == "__main__":
    if not os.path.isdir(DATA):
        print(f"no {DATA}: the seeds are the committed corpus alone")
    elif sys.argv[1] in globals():
        globals()[sys.argv[1]](sys.argv[2])
