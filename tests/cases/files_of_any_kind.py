"""What -o and the inputs may be: nothing is destroyed, nothing waits for a pipe, nothing half-written stays."""
import hashlib
import json
import os
import resource
import signal
import sqlite3
import stat
import subprocess
import time

from example_capture import example_capture
from harness import BAD_INPUT, KVET, OUTPUT_LOST, USAGE, Skipped, case, check, kvet, root, run

INTERRUPTED = 75


def refused(outcome, status, *texts):
    """One line, from kvet, that says these texts and never the name that only kvet knows."""
    outcome.expect(status, *texts)
    lines = outcome.err.splitlines()
    check(len(lines) == 1 and lines[0].startswith("kvet: "), "stderr is not one line from kvet", outcome)
    check(".unfinished" not in outcome.err, "a name that nobody typed", outcome)
    check(outcome.out == "", "something on stdout", outcome)


def write_trace(folder, name="trace.json", kernels=1):
    """A trace of PyTorch's profiler with kernels one after another."""
    events = [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1000 + 10 * number, "dur": 7.5,
               "args": {"device": 0, "context": 1, "stream": 7, "correlation": number + 1, "grid": [8, 1, 1], "block": [256, 1, 1]}}
              for number in range(kernels)]
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}], "traceEvents": events}, file)
    return path


def imported(folder, name="good.kvet"):
    capture = os.path.join(folder, name)
    kvet("import", write_trace(folder, name + ".json"), "-o", capture).expect(0)
    return capture


def state(folder):
    """Names, kinds and contents of all that lies there."""
    entries = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        mode = os.lstat(path).st_mode
        content = b""
        if stat.S_ISREG(mode):
            with open(path, "rb") as file:
                content = file.read()
        entries[name] = (stat.S_IFMT(mode), hashlib.sha256(content).hexdigest())
    return entries


@case()
def what_is_no_file_is_not_replaced(folder):
    trace, capture, other = write_trace(folder), imported(folder), imported(folder, "other.kvet")
    fifo, taken, link = (os.path.join(folder, name) for name in ("fifo", "taken", "link"))
    os.mkfifo(fifo)
    os.mkdir(taken)
    os.symlink("fifo", link)
    before = state(folder)
    for target in (fifo, taken, link):
        refused(kvet("import", trace, "-o", target, timeout=30), BAD_INPUT, target)
        refused(kvet("merge", capture, other, "-o", target, timeout=30), BAD_INPUT, target)
    refused(kvet("export", capture, "--format", "csv", "-o", fifo, timeout=30), USAGE, fifo)
    refused(kvet("compare", capture, "--against", other, "-o", fifo, timeout=30), USAGE, fifo)
    refused(kvet("export", capture, "--format", "chrome", "-o", taken), OUTPUT_LOST, taken, "directory")
    check(state(folder) == before, f"{sorted(before)} became {sorted(state(folder))}")


@case()
def an_input_is_never_the_output(folder):
    trace, capture, other = write_trace(folder), imported(folder), imported(folder, "other.kvet")
    os.symlink("good.kvet", os.path.join(folder, "symbolic"))
    os.link(capture, os.path.join(folder, "hard"))
    before = state(folder)
    refused(kvet("import", trace, "-o", trace), USAGE, trace, "the same file")
    for name in ("good.kvet", "symbolic", "hard", "./good.kvet"):
        target = os.path.join(folder, name)
        refused(kvet("merge", other, capture, "-o", target), USAGE, target, "the same file")
        for form in ("perfetto", "chrome", "prometheus"):
            refused(kvet("export", capture, "--format", form, "-o", target), USAGE, target, "the same file")
    check(state(folder) == before, "the input was changed")


@case()
def a_stranger_s_file_is_not_replaced_by_a_capture(folder):
    trace, capture, other = write_trace(folder), imported(folder), imported(folder, "other.kvet")
    text, database = os.path.join(folder, "notes.txt"), os.path.join(folder, "mine.sqlite")
    with open(text, "w", encoding="utf-8") as file:
        file.write("years of work\n")
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE mine(x)")
    connection.close()
    before = state(folder)
    for target in (text, database):
        refused(kvet("import", trace, "-o", target), BAD_INPUT, target, "not a kvet capture")
        refused(kvet("merge", capture, other, "-o", target), BAD_INPUT, target, "not a kvet capture")
    check(state(folder) == before, "it was changed")
    kvet("import", trace, "-o", other).expect(0)  # an older capture is replaced


@case()
def an_old_log_is_not_taken_for_the_new_capture_s(folder):
    trace, capture = write_trace(folder, kernels=3), imported(folder)
    with open(capture + "-wal", "wb") as file:
        file.write(b"x" * 4096)
    kvet("import", trace, "-o", capture).expect(0)
    check(not os.path.exists(capture + "-wal"), "the log of the old capture lies beside the new one")
    check(sqlite3.connect(capture).execute("SELECT count(*) FROM execution").fetchone() == (3,), "not the new capture")


@case()
def inputs_that_are_no_files_are_refused_at_once(folder):
    capture, fifo, out = imported(folder), os.path.join(folder, "fifo"), os.path.join(folder, "out.kvet")
    os.mkfifo(fifo)
    for path, why in ((fifo, "not a regular file"), (folder, "is a folder"), (os.path.join(folder, "nowhere"), "No such file or directory")):
        for command in (["import", path, "-o", out], ["report", path], ["kernels", path], ["sql", path, "SELECT 1"],
                        ["sql", capture, "-f", path], ["merge", capture, path, "-o", out], ["merge", path, capture, "-o", out],
                        ["export", path, "--format", "chrome", "-o", out], ["compare", path, "--against", capture],
                        ["compare", capture, "--against", path], ["report", capture, "--isolated", path],
                        ["compare", capture, "--against", capture, "--kernel", "gemm", "--isolated", path]):
            refused(kvet(*command, timeout=30), BAD_INPUT, path, why)
    check(not os.path.exists(out), "something was written")


@case(root)
def a_file_that_may_not_be_read_is_said_to_be_that(folder):
    capture = imported(folder)
    os.chmod(folder, 0o755)
    os.chmod(capture, 0)
    for command in (["report"], ["kernels"], ["export", "--format", "chrome"]):
        refused(run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", KVET, *command, capture]),
                BAD_INPUT, capture, "Permission denied")


@case()
def names_that_lead_nowhere(folder):
    trace, capture, other = write_trace(folder), imported(folder), imported(folder, "other.kvet")
    target = os.path.join(folder, "no", "x")
    for command in (["import", trace], ["merge", capture, other], ["export", capture, "--format", "chrome"],
                    ["export", capture, "--format", "csv"]):
        refused(kvet(*command, "-o", target), OUTPUT_LOST, target, "No such file or directory")
        refused(kvet(*command, "-o", ""), USAGE, "-o", "empty")


def interrupted(folder, command, number, limit_s=60):
    """The outcome of a command that gets a signal as soon as it has begun to write."""
    process = subprocess.Popen([KVET, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begun = time.monotonic()
    while process.poll() is None and not any(".unfinished" in name for name in os.listdir(folder)):
        check(time.monotonic() - begun < limit_s, f"{command} wrote nothing within {limit_s} s")
        time.sleep(0.001)
    process.send_signal(number)
    out, err = process.communicate(timeout=limit_s)
    check(process.returncode == INTERRUPTED, f"{command}: status {process.returncode}: {err}{out}")
    check(len(err.splitlines()) == 1 and err.startswith("kvet: "), f"stderr is not one line from kvet: {err}")


@case()
def an_interrupted_command_leaves_nothing(folder):
    trace, capture = write_trace(folder, kernels=200_000), example_capture(folder)
    before = state(folder)
    for number in (signal.SIGINT, signal.SIGTERM):
        interrupted(folder, ["import", trace, "-o", os.path.join(folder, "out.kvet")], number)
        for form in ("csv", "chrome"):
            interrupted(folder, ["export", capture, "--format", form, "-o", os.path.join(folder, "out")], number)
    check(state(folder) == before, f"{sorted(before)} became {sorted(state(folder))}")


@case()
def a_limit_on_the_size_of_files_is_output_lost(folder):
    trace, capture = write_trace(folder, kernels=5000), example_capture(folder)
    before = state(folder)
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))}
    for command in (["import", trace], ["export", capture, "--format", "chrome"], ["export", capture, "--format", "csv"]):
        target = os.path.join(folder, "out")
        refused(kvet(*command, "-o", target, **limit), OUTPUT_LOST, target)
    check(state(folder) == before, f"{sorted(before)} became {sorted(state(folder))}")


@case(root)
def a_full_disk_leaves_no_part_of_a_verdict(folder):
    """However many of the files of a result folder would fit."""
    capture = imported(folder)
    command = ["compare", capture, "--against", capture, "--kernel", "gemm"]
    whole = os.path.join(folder, "whole")
    kvet(*command, "-o", whole)
    check(len(os.listdir(whole)) == 5, f"the result folder has {os.listdir(whole)}")
    pages = sum(-(-os.path.getsize(os.path.join(whole, name)) // 4096) for name in os.listdir(whole))
    disk = os.path.join(folder, "disk")
    os.mkdir(disk)
    for some in range(1, pages):
        if run(["mount", "-t", "tmpfs", "-o", f"size={some * 4096}", "none", disk]).status != 0:
            raise Skipped("needs to mount a small disk")
        try:
            refused(kvet(*command, "-o", os.path.join(disk, "result")), OUTPUT_LOST, os.path.join(disk, "result"), "space")
            check(os.listdir(disk) == [], f"with {some} of {pages} pages there remains {os.listdir(disk)}")
        finally:
            run(["umount", disk])
