#!/usr/bin/env python3
"""Holds a capture against what a workload planted. SQL over both; nothing of kvet's code is used.

    compare_truth.py CAPTURE TRUTH_DIRECTORY [--executions N] [--processes N] [--host-tier]

Prints one line per kind of difference: CODE, how many, an example. Exit status 0 when there is none, 1 when there is any.
"""
import argparse
import glob
import os
import sqlite3
import sys

# A device time that went through CUPTI's clock and back may be off by its reading error.
CLOCK_TOLERANCE_NS = 2000
# A sleeping thread leaves the CPU a little after its timer is set: the interval is shorter than the sleep by that much.
SLEEP_TOLERANCE_NS = 300_000

TRUTH_COLUMNS = {
    "process": ["rank"],
    "execution": ["correlation", "kernel TEXT", "grid", "block", "registers", "stream", "graph", "node", "start", "end", "serial",
                  "collective", "rank", "sequence"],
    "launch": ["thread", "number", "start", "end", "entry TEXT", "kernel TEXT", "grid", "stream", "executions"],
    "captured": ["thread", "start", "end"],
    "sleep": ["thread", "start", "end", "requested"],
    "collective": ["thread", "number", "start", "end", "elements", "rank", "step"],
    "range": ["thread", "name TEXT", "start", "end"],
    "late": ["step", "rank", "sleep_end"],
}


def load_truth(database, directory):
    for kind, columns in TRUTH_COLUMNS.items():
        typed = ", ".join(c if " " in c else f'"{c}" INTEGER' for c in columns)
        database.execute(f"CREATE TEMP TABLE truth_{kind}(pid INTEGER, {typed})")
    files = sorted(glob.glob(os.path.join(directory, "*.tsv")))
    for path in files:
        pid = int(os.path.basename(path).split(".")[0])
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                kind, *values = line.rstrip("\n").split("\t")
                if kind == "process":
                    values = values[1:]
                columns = TRUTH_COLUMNS[kind]
                if len(values) != len(columns):
                    sys.exit(f"{path}: a row of {kind} has {len(values)} values, not {len(columns)}")
                marks = ", ".join("?" * (len(values) + 1))
                database.execute(f"INSERT INTO truth_{kind} VALUES({marks})", [pid, *values])
    return len(files)


def make_views(database):
    """The capture's events with pids, and device times moved to CLOCK_MONOTONIC by the capture's own mapping."""
    database.execute("""
      CREATE TEMP VIEW mapping AS
        SELECT coalesce(max(CASE WHEN e.name = 'activity' THEN m.offset_ns END), 0) AS activity_offset_ns
        FROM clock_mapping m JOIN enumerator e ON e.enumeration = 'clock_source' AND e.value = m.source""")
    database.execute("""
      CREATE TEMP TABLE seen_execution AS
        SELECT p.pid, x.correlation_id AS correlation, n.value AS kernel, s.grid_x AS grid, s.block_x AS block,
               s.registers_per_thread AS registers, x.stream_id AS stream, x.graph_id AS graph, x.graph_node_id AS node,
               x.start_ns + activity_offset_ns AS start, x.start_ns + x.duration_ns + activity_offset_ns AS end
        FROM execution x JOIN process p ON p.id = x.process_id JOIN kernel_shape s ON s.id = x.shape_id
        JOIN string n ON n.id = s.name_id, mapping""")
    database.execute("CREATE INDEX temp.seen_execution_key ON seen_execution(pid, correlation, node)")
    database.execute("CREATE INDEX temp.truth_execution_key ON truth_execution(pid, correlation, node)")
    database.execute("CREATE INDEX temp.truth_launch_key ON truth_launch(pid, thread, number)")
    # Launches that execute, numbered per thread as the workload numbers them.
    database.execute("""
      CREATE TEMP TABLE seen_launch(pid INTEGER, thread INTEGER, number INTEGER, kind TEXT, correlation INTEGER, start INTEGER,
                                    "end" INTEGER, executions INTEGER, PRIMARY KEY (pid, thread, number)) WITHOUT ROWID""")
    launches = """
        FROM api_call a JOIN process p ON p.id = a.process_id
        JOIN enumerator k ON k.enumeration = 'api_kind' AND k.value = a.kind AND k.name LIKE 'launch%'"""
    database.execute(f"""
      INSERT INTO seen_launch
        SELECT p.pid, a.thread_id, row_number() OVER (PARTITION BY p.pid, a.thread_id ORDER BY a.start_ns) - 1, k.name,
               a.correlation_id, a.start_ns, a.start_ns + a.duration_ns,
               (SELECT count(*) FROM seen_execution x WHERE x.pid = p.pid AND x.correlation = a.correlation_id)
        {launches} WHERE a.captured = 0""")
    database.execute(f"""
      CREATE TEMP TABLE seen_captured AS SELECT p.pid, a.thread_id AS thread, a.start_ns AS start {launches} WHERE a.captured = 1""")
    database.execute("""
      CREATE TEMP TABLE seen_off_cpu AS
        SELECT p.pid, o.thread_id AS thread, r.name AS reason, o.start_ns AS start, o.start_ns + o.duration_ns AS end
        FROM off_cpu o JOIN process p ON p.id = o.process_id
        JOIN enumerator r ON r.enumeration = 'off_cpu_reason' AND r.value = o.reason""")
    database.execute("CREATE INDEX temp.seen_off_cpu_key ON seen_off_cpu(pid, thread, start)")
    database.execute("""
      CREATE TEMP TABLE seen_collective AS
        SELECT p.pid, c.thread_id AS thread, k.name AS kind, c.element_count AS elements, c.data_type, m.rank, m.ranks,
               c.start_ns AS start, c.start_ns + c.duration_ns AS end,
               CAST(row_number() OVER (PARTITION BY p.pid, c.thread_id ORDER BY c.start_ns) - 1 AS INTEGER) AS number
        FROM collective_call c JOIN process p ON p.id = c.process_id
        JOIN enumerator k ON k.enumeration = 'collective_kind' AND k.value = c.kind
        LEFT JOIN communicator m ON m.process_id = c.process_id AND m.communicator = c.communicator""")


    # NVTX times are on the activity clock, as executions are.
    database.execute("""
      CREATE TEMP TABLE seen_range AS
        SELECT p.pid, r.thread_id AS thread, n.value AS name, r.start_ns + activity_offset_ns AS start,
               r.start_ns + r.duration_ns + activity_offset_ns AS end
        FROM nvtx_range r JOIN process p ON p.id = r.process_id JOIN string n ON n.id = r.name_id, mapping""")


class Differences:
    def __init__(self, database):
        self.database = database
        self.found = []

    def add(self, code, count, example):
        if count:
            self.found.append((code, count, example))

    def query(self, code, sql, **parameters):
        """Every row that `sql` gives is a difference."""
        rows = self.database.execute(sql, parameters).fetchall()
        self.add(code, len(rows), rows[0] if rows else None)


def compare_executions(differences):
    differences.query("execution.missing", """
      SELECT t.* FROM truth_execution t WHERE NOT EXISTS (SELECT 1 FROM seen_execution s
        WHERE s.pid = t.pid AND s.correlation = t.correlation AND s.node = t.node)""")
    differences.query("execution.unplanned", """
      SELECT s.* FROM seen_execution s WHERE NOT EXISTS (SELECT 1 FROM truth_execution t
        WHERE s.pid = t.pid AND s.correlation = t.correlation AND s.node = t.node)""")
    differences.query("execution.doubled", """
      SELECT pid, correlation, node, count(*) FROM seen_execution GROUP BY 1, 2, 3 HAVING count(*) > 1""")
    joined = "FROM truth_execution t JOIN seen_execution s ON s.pid = t.pid AND s.correlation = t.correlation AND s.node = t.node"
    for column in ("kernel", "grid", "block", "registers", "stream", "graph"):
        differences.query(f"execution.{column}", f"SELECT t.pid, t.correlation, t.{column}, s.{column} {joined} WHERE t.{column} <> s.{column}")
    differences.query("execution.time", f"""
      SELECT t.pid, t.correlation, t.start, s.start, t."end", s.end {joined}
      WHERE abs(t.start - s.start) > :tolerance OR abs(t."end" - s.end) > :tolerance""", tolerance=CLOCK_TOLERANCE_NS)


def compare_launches(differences):
    planted = "FROM truth_launch t LEFT JOIN seen_launch s USING (pid, thread, number)"
    differences.query("launch.missing", f"SELECT t.* {planted} WHERE s.kind IS NULL")
    differences.query("launch.unplanned", """
      SELECT s.* FROM seen_launch s LEFT JOIN truth_launch t USING (pid, thread, number) WHERE t.entry IS NULL""")
    # The recorded call lies inside the planted one: the workload read the same clock just before and just after.
    differences.query("launch.time", f"SELECT pid, thread, number, t.start, s.start, s.end, t.\"end\" {planted} "
                      'WHERE s.start < t.start OR s.end > t."end"')
    differences.query("launch.kind", f"SELECT pid, thread, number, t.entry, s.kind {planted} "
                      "WHERE (t.entry = 'cuGraphLaunch') <> (s.kind = 'launch_graph')")
    # What a planted launch asked for is what its correlation id leads to.
    differences.query("launch.executions", f"SELECT pid, thread, number, t.executions, s.executions {planted} "
                      "WHERE s.executions <> t.executions")
    executed = f"{planted} JOIN seen_execution x ON x.pid = s.pid AND x.correlation = s.correlation"
    differences.query("launch.kernel", f"SELECT t.pid, t.thread, t.number, t.kernel, x.kernel, t.grid, x.grid {executed} "
                      "WHERE t.entry = 'cuLaunchKernel' AND (x.kernel <> t.kernel OR x.grid <> t.grid)")
    differences.query("launch.causality", f"SELECT t.pid, t.thread, t.number, t.start, x.start {executed} WHERE x.start < t.start")
    differences.query("captured.count", """
      SELECT pid, thread, (SELECT count(*) FROM seen_captured s WHERE s.pid = t.pid AND s.thread = t.thread) AS seen, count(*) AS planted
      FROM truth_captured t GROUP BY pid, thread HAVING seen <> planted""")
    # What uprobes counted, as a check from another source: every entry, captured ones too.
    differences.query("launch.uprobe_count", """
      SELECT CAST(m.value AS INTEGER) AS seen, (SELECT count(*) FROM truth_launch) + (SELECT count(*) FROM truth_captured) AS planted
      FROM meta m WHERE m.key = 'check.launches_uprobe' AND seen <> planted""")


def compare_off_cpu(differences):
    off = """(SELECT coalesce(sum(min(o.end, t."end") - max(o.start, t.start)), 0) FROM seen_off_cpu o
      WHERE o.pid = t.pid AND o.thread = t.thread AND o.end > t.start AND o.start < t."end" {reason})"""
    differences.query("sleep.missing", f"""
      SELECT t.pid, t.thread, t.start, t.requested, {off.format(reason="")} AS seen
      FROM truth_sleep t WHERE seen < t.requested - :tolerance""", tolerance=SLEEP_TOLERANCE_NS)
    # Off the CPU because it slept; or, on a busy machine, because somebody took the CPU on the way into the sleep.
    differences.query("sleep.reason", f"""
      SELECT t.pid, t.thread, t.start, t.requested, {off.format(reason="")} AS seen,
             {off.format(reason="AND o.reason IN ('sleep', 'preempted', 'throttled')")} AS explained
      FROM truth_sleep t WHERE explained < seen - :tolerance""", tolerance=SLEEP_TOLERANCE_NS)
    differences.query("off_cpu.overlap", """
      SELECT a.pid, a.thread, a.start, a.end, b.start FROM seen_off_cpu a JOIN seen_off_cpu b
        ON a.pid = b.pid AND a.thread = b.thread AND b.start > a.start AND b.start < a.end""")


def compare_collectives(differences):
    planted = "FROM truth_collective t LEFT JOIN seen_collective s ON s.pid = t.pid AND s.thread = t.thread AND s.number = t.number"
    differences.query("collective.missing", f"SELECT t.* {planted} WHERE s.pid IS NULL")
    differences.query("collective.unplanned", """
      SELECT s.* FROM seen_collective s WHERE NOT EXISTS (SELECT 1 FROM truth_collective t
        WHERE s.pid = t.pid AND s.thread = t.thread AND s.number = t.number)""")
    differences.query("collective.content", f"""
      SELECT t.pid, t.elements, s.elements, t.rank, s.rank, s.ranks, s.kind, s.data_type {planted} WHERE s.pid IS NOT NULL AND
        (s.kind <> 'all_reduce' OR s.elements <> t.elements OR s.data_type <> 7 OR s.rank IS NULL OR s.rank <> t.rank
         OR s.ranks <> (SELECT count(DISTINCT rank) FROM truth_collective))""")
    differences.query("collective.time", f"""
      SELECT t.pid, t.number, t.start, s.start, s.end, t."end" {planted} WHERE s.start < t.start OR s.end > t."end" """)
    # One rank slept before its call: nobody's collective of that step can have ended before the sleep did.
    differences.query("collective.wait", """
      SELECT l.step, l.rank, l.sleep_end, x.pid, x.start, x.end FROM truth_late l
      JOIN truth_execution t ON t.collective = 1 AND t.sequence = l.step
      JOIN seen_execution x ON x.pid = t.pid AND x.correlation = t.correlation WHERE x.end < l.sleep_end""")


def compare_ranges(differences):
    inside = 's.pid = t.pid AND s.thread = t.thread AND s.name = t.name AND s.start >= t.start AND s.end <= t."end"'
    differences.query("range.missing", f"SELECT t.* FROM truth_range t WHERE (SELECT count(*) FROM seen_range s WHERE {inside}) <> 1")
    differences.query("range.unplanned", f"SELECT s.* FROM seen_range s WHERE NOT EXISTS (SELECT 1 FROM truth_range t WHERE {inside})")


def compare_whole(differences, arguments, processes):
    database = differences.database
    one = lambda sql: database.execute(sql).fetchone()[0]
    if one("SELECT count(*) FROM meta WHERE key = 'complete' AND value = '1'") != 1:
        differences.add("capture.incomplete", 1, "meta has no complete = 1")
    differences.query("loss", """
      SELECT s.name, k.name, sum(lost_count) FROM loss l
      JOIN enumerator s ON s.enumeration = 'source' AND s.value = l.source
      JOIN enumerator k ON k.enumeration = 'loss_kind' AND k.value = l.kind GROUP BY 1, 2 HAVING sum(lost_count) > 0""")
    if arguments.processes is not None and processes != arguments.processes:
        differences.add("truth.processes", 1, f"{processes} files of truth, not {arguments.processes}")
    if arguments.executions is not None:
        planted = one("SELECT count(*) FROM truth_execution")
        if planted != arguments.executions:
            differences.add("truth.executions", 1, f"the truth has {planted} executions, not {arguments.executions}")
        seen = one("SELECT count(*) FROM seen_execution")
        if seen != arguments.executions:
            differences.add("execution.count", 1, f"the capture has {seen} executions, not {arguments.executions}")
    differences.query("process.missing", "SELECT pid FROM truth_process t WHERE NOT EXISTS (SELECT 1 FROM process p WHERE p.pid = t.pid)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("capture")
    parser.add_argument("truth")
    parser.add_argument("--executions", type=int)
    parser.add_argument("--processes", type=int)
    arguments = parser.parse_args()
    database = sqlite3.connect(f"file:{arguments.capture}?mode=ro", uri=True)
    processes = load_truth(database, arguments.truth)
    make_views(database)
    differences = Differences(database)
    compare_whole(differences, arguments, processes)
    compare_executions(differences)
    compare_launches(differences)
    compare_off_cpu(differences)
    compare_collectives(differences)
    compare_ranges(differences)
    for code, count, example in differences.found:
        print(f"{code}\t{count}\t{example}")
    sys.exit(1 if differences.found else 0)


if __name__ == "__main__":
    main()
