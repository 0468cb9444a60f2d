"""kvet sql: what it gives is what sqlite3 and Python's parsers find; what it must not do it does not."""
import csv
import hashlib
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess

from example_capture import example_capture
from harness import BAD_INPUT, KVET, OUTPUT_LOST, USAGE, Skipped, case, check, kvet

INTERRUPTED = 75
ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT {} FROM c"


def capture_in(folder):
    """One capture of the candidate, with counter samples, alone in a folder of its own."""
    os.makedirs(os.path.join(folder, "alone"))
    return example_capture(os.path.join(folder, "alone"), "ab-01-1-candidate.kvet")


def independent(capture, sql):
    return sqlite3.connect(f"file:{capture}?immutable=1", uri=True).execute(sql).fetchall()


def one_error(outcome, status, *texts):
    outcome.expect(status, *texts)
    check(len(outcome.err.splitlines()) == 1 and outcome.err.startswith("kvet: "), "not one line from kvet", outcome)
    return outcome


@case()
def rows_are_those_that_sqlite_gives(folder):
    capture = capture_in(folder)
    sql = "SELECT rowid, start_ns, duration_ns, shape_id FROM execution ORDER BY rowid LIMIT 3000"
    expected = independent(capture, sql)
    table = list(csv.reader(io.StringIO(kvet("sql", capture, sql, "--format", "csv").expect(0).out)))
    check([tuple(map(int, row)) for row in table[1:]] == expected, "csv differs")
    rows = json.loads(kvet("sql", capture, sql, "--format", "json").expect(0).out)
    check([tuple(row.values()) for row in rows] == expected, "json differs")
    lines = kvet("sql", capture, sql, "--format", "jsonl").expect(0).out.splitlines()
    check([tuple(json.loads(line).values()) for line in lines] == expected, "jsonl differs")
    text = kvet("sql", capture, sql).expect(0).out.splitlines()
    check([tuple(map(int, line.split())) for line in text[2:]] == expected, "the table differs")


@case()
def reals_come_back_to_the_last_bit(folder):
    capture = capture_in(folder)
    sql = "SELECT warp_cycles / cycles_elapsed AS r FROM sample WHERE cycles_elapsed > 0 AND warp_cycles IS NOT NULL"
    expected = [row[0] for row in independent(capture, sql)]
    check(len(expected) > 100, f"only {len(expected)} samples")
    rows = json.loads(kvet("sql", capture, sql, "--format", "json").expect(0).out)
    check([row["r"] for row in rows] == expected, "json differs")
    table = list(csv.reader(io.StringIO(kvet("sql", capture, sql, "--format", "csv").expect(0).out)))
    check([float(row[0]) for row in table[1:]] == expected, "csv differs")


@case()
def the_query_comes_from_an_argument_a_file_or_standard_input(folder):
    capture, file = capture_in(folder), os.path.join(folder, "q.sql")
    with open(file, "w") as out:
        out.write("-- how many?\nSELECT count(*) AS n FROM executions;\n")
    count = independent(capture, "SELECT count(*) FROM execution")[0][0]
    for outcome in (kvet("sql", capture, "SELECT count(*) AS n FROM executions", "--format", "jsonl"),
                    kvet("sql", capture, "-f", file, "--format", "jsonl")):
        check(json.loads(outcome.expect(0).out) == {"n": count}, "another number", outcome)
    piped = subprocess.run([KVET, "sql", capture, "--format", "jsonl"], input="SELECT count(*) AS n FROM executions",
                           capture_output=True, text=True, timeout=60)
    check(json.loads(piped.stdout) == {"n": count}, f"another number from standard input: {piped}")
    one_error(kvet("sql", capture, "SELECT 1", "-f", file), USAGE)
    one_error(kvet("sql", capture, "-f", os.path.join(folder, "nowhere.sql")), BAD_INPUT, "nowhere.sql", "No such file")


@case()
def documented_queries_are_listed_and_run(folder):
    capture = capture_in(folder)
    listed = json.loads(kvet("sql", "--list", "--format", "json").expect(0).out)
    check({"occupancy", "dram", "off_cpu", "starvation", "nccl", "kernels"} <= {query["name"] for query in listed}, f"{listed}")
    for query in listed:
        parameters = [argument for name in query["parameters"].replace(",", " ").split()
                      for argument in ("--param", f"{name[1:]}=%norm%")]
        kvet("sql", capture, "--query", query["name"], *parameters).expect(0)
    row = json.loads(kvet("sql", capture, "--query", "kernels", "--param", "kernel=%rmsnorm%", "--format", "jsonl").expect(0).out)
    expected, = independent(capture, """SELECT count(*), sum(duration_ns) FROM execution x JOIN kernel_shape s ON s.id = shape_id
                                        JOIN string n ON n.id = name_id WHERE n.value LIKE '%rmsnorm%'""")
    check((row["executions"], row["time_ns"]) == expected, f"{row}, SQL gives {expected}")
    one_error(kvet("sql", capture, "--query", "occupacy"), USAGE, "Did you mean occupancy?")
    one_error(kvet("sql", capture, "--query", "occupancy"), USAGE, "--param kernel=")


@case()
def every_view_that_is_listed_can_be_read(folder):
    capture = capture_in(folder)
    columns = {}
    for row in json.loads(kvet("sql", "--views", "--format", "json").expect(0).out):
        check(row["prose"], f"{row} is not described")
        columns.setdefault(row["view"], []).append(row["column"])
    check(len(columns) == 15, f"{sorted(columns)}")
    for view, names in columns.items():
        outcome = kvet("sql", capture, f"SELECT * FROM {view} LIMIT 1", "--format", "csv").expect(0)
        check(next(csv.reader([outcome.out.splitlines()[0]])) == names, f"{view} has other columns", outcome)


@case()
def nothing_is_written(folder):
    capture = capture_in(folder)
    before = hashlib.sha256(open(capture, "rb").read()).hexdigest()
    elsewhere = os.path.join(folder, "elsewhere.sqlite")
    for sql in ("DELETE FROM execution", "UPDATE meta SET value = 0", "DROP TABLE execution", "CREATE TEMP TABLE t(x)", "VACUUM",
                f"VACUUM INTO '{elsewhere}'", f"ATTACH '{elsewhere}' AS e", "PRAGMA journal_mode = WAL",
                "PRAGMA user_version = 7", "PRAGMA writable_schema = 1", "SELECT load_extension('x')", "BEGIN IMMEDIATE",
                "SELECT 1; DELETE FROM meta"):
        one_error(kvet("sql", capture, sql), USAGE, "query")
    check(hashlib.sha256(open(capture, "rb").read()).hexdigest() == before, "the capture changed")
    check(sorted(os.listdir(os.path.dirname(capture))) == [os.path.basename(capture)], "files were left beside it")
    check(not os.path.exists(elsewhere), "another file was made")


@case()
def errors_name_the_place(folder):
    capture = capture_in(folder)
    one_error(kvet("sql", capture, "SELECT name,\n  no_such_column\nFROM executions"), USAGE, "line 2, column 3")
    one_error(kvet("sql", capture, "SELEC 1"), USAGE, "line 1, column 1")
    one_error(kvet("sql", capture, ""), USAGE)
    one_error(kvet("sql"), USAGE)


@case()
def queries_that_never_end_are_ended(folder):
    capture = capture_in(folder)
    one_error(kvet("sql", capture, ENDLESS.format("count(*)"), "--timeout", "200ms"), INTERRUPTED, "--timeout")
    process = subprocess.Popen([KVET, "sql", capture, ENDLESS.format("n"), "--format", "csv", "--timeout", "1h"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    check(process.returncode == INTERRUPTED and len(err.splitlines()) == 1, f"status {process.returncode}: {err}")
    # JSON that was cut short is not taken for whole.
    cut = kvet("sql", capture, ENDLESS.format("n") + " LIMIT 100000000", "--format", "json", "--timeout", "100ms")
    check(cut.status == INTERRUPTED and not cut.out.rstrip().endswith("]"), "it looks whole")


@case()
def a_closed_pipe_ends_it_quietly_and_a_full_disk_does_not(folder):
    capture = capture_in(folder)
    process = subprocess.Popen([KVET, "sql", capture, ENDLESS.format("n"), "--format", "csv", "--timeout", "1h"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check([process.stdout.readline() for _ in range(3)] == ['"n"\n', "1\n", "2\n"], "the first rows")
    process.stdout.close()
    check(process.wait(timeout=60) == 0 and process.stderr.read() == "", "a closed pipe is told")
    if not os.path.exists("/dev/full"):
        raise Skipped("needs /dev/full")
    with open("/dev/full", "w") as full:
        lost = subprocess.run([KVET, "sql", capture, "SELECT 1"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    check(lost.returncode == OUTPUT_LOST and len(lost.stderr.splitlines()) == 1, f"{lost}")


@case()
def files_that_are_not_whole_captures(folder):
    capture = capture_in(folder)
    incomplete, other, empty, cut, views, virtual = (os.path.join(folder, name) for name in (
        "incomplete.kvet", "nsys.sqlite", "empty.kvet", "cut.kvet", "views.kvet", "virtual.kvet"))
    for path, sql in ((incomplete, "DELETE FROM meta WHERE key = 'complete'"), (views, "CREATE VIEW v AS SELECT 1"),
                      (virtual, "CREATE VIRTUAL TABLE v USING fts5(a)")):
        shutil.copy(capture, path)
        database = sqlite3.connect(path)
        database.execute(sql)
        database.commit()
        database.close()
    kvet("sql", incomplete, "SELECT 1").expect(0, "did not finish")
    one_error(kvet("sql", views, "SELECT 1"), BAD_INPUT, views, "view")
    one_error(kvet("sql", virtual, "SELECT 1"), BAD_INPUT, virtual, "virtual")
    database = sqlite3.connect(other)
    database.execute("CREATE TABLE StringIds(id, value)")
    database.close()
    one_error(kvet("sql", other, "SELECT 1"), BAD_INPUT, other, "kvet import")
    open(empty, "w").close()
    one_error(kvet("sql", empty, "SELECT 1"), BAD_INPUT, empty)
    shutil.copy(capture, cut)
    os.truncate(cut, os.path.getsize(cut) // 2)
    one_error(kvet("sql", cut, "SELECT 1"), BAD_INPUT, cut)
    one_error(kvet("sql", os.path.join(folder, "nowhere.kvet"), "SELECT 1"), BAD_INPUT, "nowhere.kvet")
