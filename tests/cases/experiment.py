"""kvet validate, try and init on simcuda: whole experiments, whose ratio is in the workload's own text and is calculated again
by a program that shares no code with kvet."""
import glob
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

from harness import BAD_INPUT, KVET, TESTS, UNAVAILABLE, USAGE, bpf, case, check, kvet, run, simcuda_environment, workload

SURVIVES, PARTIAL, INVALID, INCONCLUSIVE, REFUSED, INTERRUPTED = 0, 10, 13, 14, 15, 75
# tests/workloads/norm_arms.cpp: per layer 40 + 80 µs against 80 µs.
PLANTED = 1.5


def plan(folder, workload_lines, claim="1.5", candidate_check="true", more=""):
    path = os.path.join(folder, "plan.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""claim = {claim}
{more}
[workload]
{workload_lines}
[gpu]
device = "{os.path.basename(folder)}"
counters = "off"
[baseline]
env = {{ NORM = "stock" }}
[candidate]
env = {{ NORM = "generated" }}
check = "{candidate_check}"
""")
    return path


def program(folder, **more):
    return plan(folder, f'run = "{workload("norm_arms")} --steps 60"', **more)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def environment(folder):
    return simcuda_environment(folder, CUDA_VISIBLE_DEVICES="0")


def validate(path, result, *more, folder, timeout=280):
    return kvet("validate", path, "-o", result, *more, environment=environment(folder), timeout=timeout)


def verdict_of(result):
    with open(os.path.join(result, "verdict.json"), encoding="utf-8") as file:
        return json.load(file)


def level_3(verdict):
    return verdict["levels"][2]["estimate"]["ratio"]


@case(bpf)
def a_plan_from_start_to_a_word(folder):
    result = os.path.join(folder, "result")
    outcome = validate(program(folder), result, "--quads", 4, folder=folder)
    verdict = verdict_of(result)
    check(outcome.status == SURVIVES, f"{verdict['headline']}; caps {verdict['caps']}, refusals {verdict['refusals']}", outcome)
    check(abs(level_3(verdict) / PLANTED - 1) < 1e-3, f"level 3 is {level_3(verdict)}, planted {PLANTED}", outcome)
    check(verdict["quads"] == 4 and verdict["aa_quads"] == 4, "not four quads of each kind", outcome)
    check(verdict["ledger"]["adds_up"], f"the ledger does not add up: {verdict['ledger']}", outcome)
    for name in ("report.txt", "blocks.json", "plan.toml"):
        check(os.path.exists(os.path.join(result, name)), f"no {name}", outcome)
    # SQL and Python come to the same.
    again = run([sys.executable, os.path.join(TESTS, "independent_verdict.py"), result])
    check(again.status == 0, "the independent calculation disagrees", again)

    baseline = sorted(glob.glob(os.path.join(result, "captures", "*-baseline.kvet")))
    candidate = sorted(glob.glob(os.path.join(result, "captures", "*-candidate.kvet")))
    forth = kvet("compare", *baseline, "--against", *candidate, "--json")
    check(forth.status == SURVIVES, "compare comes to another word than validate", forth)
    ab = [path for path in baseline if os.path.basename(path).startswith("ab")]
    back = kvet("compare", *candidate, "--against", *ab, "--json")
    product = level_3(json.loads(forth.out)) * level_3(json.loads(back.out))
    check(abs(product - 1) < 1e-12, f"swapped arms give {product} ÷ the ratio", back)

    # One execution less, anywhere, and nothing passes.
    database = sqlite3.connect(candidate[0])
    database.execute("DELETE FROM execution WHERE rowid = (SELECT max(rowid) - 100 FROM execution)")
    database.commit()
    database.close()
    outcome = kvet("compare", *baseline, "--against", *candidate)
    check(outcome.status == REFUSED, "a deleted execution is not REFUSED", outcome)


@case(bpf)
def a_server_under_load(folder):
    port = free_port()
    program_ = workload("norm_arms")
    path = plan(folder, f"""server = "{program_} --serve {port}"
ready = "http://127.0.0.1:{port}/health"
warmup = "{program_} --load {port} --steps 5"
load = "{program_} --load {port} --steps 60"
metric = {{ regex = 'throughput: ([0-9.]+) steps/s' }}""")
    result = os.path.join(folder, "result")
    outcome = validate(path, result, "--quads", 1, "--no-aa", folder=folder).expect(INCONCLUSIVE)
    verdict = verdict_of(result)
    check(verdict["refusals"] == [], f"refused: {verdict['refusals']}", outcome)
    check(abs(level_3(verdict) / PLANTED - 1) < 1e-3, f"level 3 is {level_3(verdict)}, planted {PLANTED}", outcome)
    # The window is the load: 60 steps of each block, the warm-up outside.
    for capture in glob.glob(os.path.join(result, "captures", "*.kvet")):
        database = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
        meta = dict(database.execute("SELECT key, value FROM meta"))
        inside, = database.execute("SELECT count(*) FROM nvtx_range WHERE start_ns >= ? AND start_ns < ?",
                                   (int(meta["window.from_ns"]), int(meta["window.to_ns"]))).fetchone()
        everything, = database.execute("SELECT count(*) FROM nvtx_range").fetchone()
        check((inside, everything) == (60, 65), f"{inside} of {everything} steps in the window of {capture}", outcome)
        check(float(meta["experiment.metric"]) > 0, "no metric in the capture", outcome)
    left = subprocess.run(["pgrep", "-f", f"norm_arms --serve {port}"], capture_output=True, text=True, check=False).stdout
    check(left == "", f"servers live on: {left}", outcome)


@case(bpf)
def an_interrupted_run_is_resumable(folder):
    path, result = program(folder), os.path.join(folder, "result")
    command = [KVET, "validate", path, "-o", result, "--quads", "1", "--no-aa"]
    process = subprocess.Popen(command, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    journal = os.path.join(result, "blocks.json")
    deadline = time.monotonic() + 120
    finished = []
    while len(finished) < 2 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
        if os.path.exists(journal):
            with open(journal, encoding="utf-8") as file:
                finished = json.load(file)["blocks"]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    check(process.returncode == INTERRUPTED, f"exit status {process.returncode}\n{err}")
    check("--quads 1 --no-aa --resume -o" in err, f"does not say how to go on with the same:\n{err}")
    check(out == "", "an interrupted run printed a verdict")
    validate(path, result, "--quads", 1, "--no-aa", folder=folder).expect(USAGE, "--resume")
    outcome = validate(path, result, "--quads", 1, "--no-aa", "--resume", folder=folder).expect(INCONCLUSIVE)
    with open(journal, encoding="utf-8") as file:
        blocks = json.load(file)["blocks"]
    check(len(blocks) == 6, f"{len(blocks)} blocks", outcome)
    for block in finished:
        check(block in blocks, "a finished block was run again", outcome)


@case(bpf)
def a_kernel_that_is_not_on_the_path_is_invalid(folder):
    """The candidate's switch does nothing in the workload: both arms run the stock kernels."""
    path = os.path.join(folder, "plan.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""claim = 1.5
[workload]
run = "{workload("norm_arms")} --steps 20"
[gpu]
device = "{os.path.basename(folder)}"
[baseline]
env = {{ NORM = "stock", SWITCH = "off" }}
[candidate]
env = {{ NORM = "stock", SWITCH = "on" }}
""")
    outcome = validate(path, os.path.join(folder, "result"), folder=folder).expect(BAD_INPUT, "both arms ran the same kernels",
                                                                                "stock_rms_norm")
    check(not os.path.exists(os.path.join(folder, "result", "verdict.json")), "a verdict without a kernel set", outcome)


@case()
def a_failed_check_is_invalid(folder):
    result = os.path.join(folder, "result")
    path = program(folder, candidate_check="echo row 3 differs; exit 1")
    outcome = validate(path, result, folder=folder).expect(INVALID)
    check("row 3 differs" in outcome.out, "does not show what the check said", outcome)
    check("per step" not in outcome.out and "a step is" not in outcome.out, "a table of nothing", outcome)
    check(verdict_of(result)["word"] == "INVALID", "the file says something else", outcome)
    validate(program(folder, candidate_check="no-such-check"), result + "2", folder=folder).expect(UNAVAILABLE, "no-such-check")


@case()
def plans_that_cannot_be_run(folder):
    result = os.path.join(folder, "result")
    for change, texts in (({"claim": '"38%"'}, ["1.38", "1.61", "plan.toml:1"]), ({"claim": "1.01"}, ["too small"]),
                          ({"more": "kernles = []"}, ["unknown key 'kernles'", "did you mean 'kernels'?", "plan.toml:2"])):
        validate(program(folder, **change), result, folder=folder).expect(USAGE, *texts)
    kvet("validate", os.path.join(folder, "nowhere.toml")).expect(BAD_INPUT, "nowhere.toml", "kvet init")
    check(not os.path.exists(result), "a refused plan left a folder")


@case(bpf)
def try_needs_no_plan(folder):
    program_ = workload("norm_arms")
    outcome = kvet("try", "--base", f"NORM=stock {program_} --steps 40", "--cand", f"NORM=generated {program_} --steps 40", "--claim",
                   "1.5", "--quads", 1, "--no-aa", "-o", os.path.join(folder, "result"), environment=environment(folder), timeout=120)
    outcome.expect(INCONCLUSIVE)
    check(abs(level_3(verdict_of(os.path.join(folder, "result"))) / PLANTED - 1) < 1e-3, "not the planted ratio", outcome)


@case()
def init_writes_a_plan_once(folder):
    path = os.path.join(folder, "plan.toml")
    kvet("init", "-o", path).expect(0)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    kvet("init", "-o", path).expect(USAGE, "exists already")
    with open(path, encoding="utf-8") as file:
        check(file.read() == text, "init replaced a file")
    outcome = kvet("validate", path, "--dry-run", "-o", os.path.join(folder, "result"))
    check("claim" in outcome.out and "34 blocks" in outcome.out, "the plan that init writes is not a plan", outcome)
    check(not os.path.exists(os.path.join(folder, "result")), "a dry run left a folder", outcome)
    shutil.rmtree(folder)
    os.mkdir(folder)


@case(bpf)
def the_recorders_own_words_are_no_metric(folder):
    """Recorder and program share a log; "… 270 executions, …" is the recorder's summary and no figure of the workload's."""
    metric = "metric = { regex = '([0-9]+) executions' }"
    path = plan(folder, f'run = "{workload("norm_arms")} --steps 30"\n{metric}')
    outcome = validate(path, os.path.join(folder, "result"), "--quads", 1, "--no-aa", folder=folder)
    outcome.expect(BAD_INPUT, "no line matches metric", "its last line was: throughput")
