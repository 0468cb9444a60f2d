"""Nsight Systems exports on the command line: report, kernels and import of hand-made files (src/import/testdata), of the real ones
where they are, and of files that are broken in every way."""
import os
import shutil
import sqlite3

from harness import BAD_INPUT, TESTS, Skipped, case, check, kvet

TESTDATA = os.path.join(os.path.dirname(TESTS), "src", "import", "testdata")
DATA = os.environ.get("KVET_DATA", os.path.join(os.path.dirname(TESTS), "..", "shared", "data"))


def export(folder, name="nsys_3_25", more="", file="profile.sqlite"):
    path = os.path.join(folder, file)
    if os.path.exists(path):
        os.remove(path)
    database = sqlite3.connect(path)
    with open(os.path.join(TESTDATA, name + ".sql"), encoding="utf-8") as sql:
        database.executescript(sql.read())
    database.executescript(more)
    database.close()
    return path


def refused(folder, path, *texts):
    """import, report and kernels say the same in one line; nothing is left behind."""
    output = os.path.join(folder, "out.kvet")
    before = sorted(os.listdir(folder))
    for command in (["import", path, "-o", output], ["report", path], ["kernels", path]):
        outcome = kvet(*command).expect(BAD_INPUT, *texts)
        check(len(outcome.err.splitlines()) == 1 and outcome.err.startswith("kvet: "), "not one line from kvet", outcome)
        check(outcome.out == "", "something on stdout", outcome)
    check(sorted(os.listdir(folder)) == before, f"something was left: {os.listdir(folder)}")


@case()
def imports_what_the_file_holds(folder):
    output = os.path.join(folder, "out.kvet")
    kvet("import", export(folder), "-o", output).expect(0)
    capture = sqlite3.connect(output)
    row = capture.execute("SELECT count(*), sum(duration_ns), min(start_ns), max(start_ns + duration_ns) FROM execution").fetchone()
    check(row == (4, 2000 + 500 + 300 + 250, 1000, 5250), f"executions: {row}")
    check(capture.execute("SELECT count(*) FROM device").fetchone() == (2,), "not two devices")
    check(capture.execute("SELECT count(*) FROM api_call").fetchone() == (6,), "a call is counted twice, or missing")


@case()
def a_report_of_the_file_and_of_its_capture_agree(folder):
    path, output = export(folder), os.path.join(folder, "out.kvet")
    kvet("import", path, "-o", output).expect(0)
    direct, stored = (kvet("report", file).expect(0).out for file in (path, output))
    check(direct.replace(path, "F") == stored.replace(output, "F"), f"they differ:\n{direct}\n{stored}")
    for text in ("counters imported every 100 ns", "17 CUDA events were dropped", "gemm", "NVIDIA H100"):
        check(text in direct.replace("\n        ", " "), f"the report lacks {text!r}:\n{direct}")


@case()
def the_report_names_the_flag_for_everything_that_is_missing(folder):
    graph = ("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER);"
             "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (100, 200);")
    out = " ".join(kvet("report", export(folder, "nsys_3_0", graph)).expect(0).out.split())
    for flag in ("--cuda-graph-trace=node", "--cpuctxsw=process-tree", "--gpu-metrics-devices=all", "--trace=cuda,nvtx"):
        check(flag in out, f"{flag} is not named")
    check("1 CUDA graph launches" in out, "hidden graphs are not said")


@case()
def without_kernels(folder):
    refused(folder, export(folder, "nsys_3_0", "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL"), "holds no kernels")
    graph = ("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER); DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;"
             "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (100, 200);")
    refused(folder, export(folder, "nsys_3_0", graph), "holds no kernels", "--cuda-graph-trace=node")


@case()
def truncated_anywhere(folder):
    path = export(folder)
    whole = os.path.getsize(path)
    for size in (whole - 1, whole // 2, 600, 101, 100, 99):
        export(folder)
        os.truncate(path, size)
        refused(folder, path, "truncated")
    for size in (50, 16, 3, 0):
        export(folder)
        os.truncate(path, size)
        refused(folder, path)


@case()
def not_a_database_or_encrypted(folder):
    path = os.path.join(folder, "profile.sqlite")
    with open(path, "wb") as file:  # as SQLCipher leaves it: nothing but noise
        file.write(bytes((i * 7919 + i // 251) % 256 for i in range(1, 16384)))
    refused(folder, path)
    # A header that is whole, and noise behind it.
    with open(path, "wb") as file:
        file.write(b"SQLite format 3\0" + bytes([16, 0, 1, 1, 0, 64, 32, 32]) + bytes(4) + bytes([0, 0, 0, 4]) + bytes(68))
        file.write(bytes((i * 7919 + i // 251) % 256 for i in range(16384 - 100)))
    refused(folder, path)


@case()
def another_database(folder):
    path = os.path.join(folder, "other.sqlite")
    database = sqlite3.connect(path)
    database.executescript("CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('Kernel')")
    database.close()
    refused(folder, path, "neither a capture nor an export of Nsight Systems")


@case()
def in_use(folder):
    path = export(folder, "nsys_3_0")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    writer.execute("DELETE FROM StringIds")
    refused(folder, path, "another program is writing this database")
    writer.execute("ROLLBACK")
    writer.close()
    kvet("kernels", path).expect(0)


@case()
def views_triggers_types_and_missing_strings(folder):
    for more, text in (("CREATE VIEW v AS SELECT * FROM StringIds", "view 'v'"),
                       ("CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN DELETE FROM StringIds; END", "trigger 't'"),
                       ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'soon'", "row 0: start"),
                       ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = 1.5", "gridX"),
                       ("DROP TABLE StringIds", "StringIds is missing")):
        refused(folder, export(folder, "nsys_3_0", more), text)


@case()
def absurd_values_are_counted_and_said(folder):
    path = export(folder, "nsys_3_25", """
      UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 10 WHERE correlationId = 101;
      UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET start = 1000000000000000000, end = 1000000000000000001;
      UPDATE StringIds SET value = '<script>' || char(27) || '[31m' || char(10) || replace(hex(zeroblob(50000)), '0', 'k') WHERE id = 4;
    """)
    outcome = kvet("report", path).expect(0)
    check("3 records of the imported file were lost: their times" in " ".join(outcome.out.split()), "losses are not said", outcome)
    check("\x1b[31m" not in outcome.out and max(map(len, outcome.out.splitlines())) < 400, "a hostile name came through", outcome)


@case()
def real_files_give_what_sqlite_finds(folder):
    names = [f"nsys_{name}.sqlite" for name in ("2gpu_before", "2gpu_after", "t4_power_iteration")]
    if not all(os.path.exists(os.path.join(DATA, name)) for name in names):
        raise Skipped(f"needs the real files in {DATA}")
    for name in names:
        path, output = os.path.join(DATA, name), os.path.join(folder, "out.kvet")
        kvet("import", path, "-o", output).expect(0)
        source = sqlite3.connect(f"file:{path}?immutable=1", uri=True).execute(
            "SELECT count(*), sum(end - start), min(start), max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
        stored = sqlite3.connect(output).execute(
            "SELECT count(*), sum(duration_ns), min(start_ns), max(start_ns + duration_ns) FROM execution").fetchone()
        check(source == stored, f"{name}: {source} became {stored}")


@case()
def two_real_runs_compare(folder):
    """Their computing kernels did not change, the waiting did: no word that one regressed or got faster."""
    paths = [os.path.join(DATA, f"nsys_2gpu_{arm}.sqlite") for arm in ("before", "after")]
    if not all(map(os.path.exists, paths)):
        raise Skipped(f"needs the real files in {DATA}")
    for path in paths:  # beside each other, as a user has them
        shutil.copy(path, folder)
    outcome = kvet("compare", os.path.join(folder, "nsys_2gpu_before.sqlite"), "--against",
                   os.path.join(folder, "nsys_2gpu_after.sqlite"), "--kernel", "ncclDevKernel_SendRecv", timeout=300)
    check(outcome.status == 14 and outcome.out.startswith("INCONCLUSIVE"), "not INCONCLUSIVE", outcome)
