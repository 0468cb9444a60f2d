"""From captures to a word: planted ratios, calculated again by SQL; arms swapped; a capture against itself; a record deleted."""
import json
import os
import sqlite3

from harness import bpf, case, check, kvet, simcuda_environment, workload

REFUSED, INCONCLUSIVE = 15, 14
BASE = ["--kernel", "_Z11norm_kernelPf", "--kernel-us", "90"]
CANDIDATE = ["--kernel", "_Z10fused_normPf", "--kernel-us", "60"]
PLANTED = 1.5


def record(folder, name, arguments, *more):
    capture = os.path.join(folder, name)
    kvet("record", "-o", capture, "--counters", "off", "--", workload("variant"), *arguments, "--steps", 60, *more,
         environment=simcuda_environment(folder)).expect(0)
    return capture


def mean_per_step_ns(capture, pattern):
    """The kernel set's time per step, by SQL alone: executions of one stream never overlap, so their union is their sum."""
    database = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
    return database.execute("""
      SELECT sum(x.duration_ns) * 1.0 / (SELECT count(*) FROM nvtx_range) FROM execution x JOIN kernel_shape s ON s.id = x.shape_id
      JOIN string n ON n.id = s.name_id WHERE n.value LIKE ?""", (f"%{pattern}%",)).fetchone()[0]


def compare(base, candidate, *more):
    outcome = kvet("compare", base, "--against", candidate, "--json", *more)
    check(outcome.out.startswith("{"), "no JSON", outcome)
    return outcome, json.loads(outcome.out)


def level_3(verdict):
    """The ratio at level 3; None where it is unavailable."""
    level, = [level for level in verdict["levels"] if level["number"] == 3]
    return level["estimate"] and level["estimate"]["ratio"]


@case(bpf)
def the_ratio_is_the_planted_one(folder):
    base, candidate = record(folder, "base.kvet", BASE), record(folder, "candidate.kvet", CANDIDATE)
    independent = mean_per_step_ns(base, "norm_kernel") / mean_per_step_ns(candidate, "fused_norm")
    check(abs(independent / PLANTED - 1) < 1e-4, f"the workload's own ratio is {independent}, planted {PLANTED}")
    outcome, verdict = compare(base, candidate, "--claim", "1.5")
    ratio = level_3(verdict)
    check(ratio is not None and abs(ratio / independent - 1) < 1e-3, f"level 3 is {ratio}, SQL gives {independent}", outcome)
    swapped_outcome, swapped = compare(candidate, base, "--claim", "1.5")
    inverse = level_3(swapped)
    check(inverse is not None and abs(inverse * ratio - 1) < 1e-6, f"swapped: {inverse}, not 1 ÷ {ratio}", swapped_outcome)
    # One capture per arm is capped at "likely".
    check(outcome.status == INCONCLUSIVE, "one capture per arm gave more than likely", outcome)


@case(bpf)
def a_capture_against_itself_never_survives(folder):
    base = record(folder, "base.kvet", BASE)
    outcome = kvet("compare", base, "--against", base, "--kernel", "norm_kernel", "--claim", "1.5")
    check(outcome.status not in (0, 10), "a capture beat itself", outcome)


@case(bpf)
def one_execution_deleted_is_refused(folder):
    base, candidate = record(folder, "base.kvet", BASE), record(folder, "candidate.kvet", CANDIDATE)
    database = sqlite3.connect(candidate)
    database.execute("DELETE FROM execution WHERE rowid = (SELECT min(rowid) + 100 FROM execution)")
    database.commit()
    database.close()
    outcome = kvet("compare", base, "--against", candidate, "--claim", "1.5")
    check(outcome.status == REFUSED, "a missing execution was not REFUSED", outcome)
    check("REFUSED" in outcome.out, "the word is not there", outcome)


@case(bpf)
def kernels_lists_what_only_one_arm_ran(folder):
    base, candidate = record(folder, "base.kvet", BASE), record(folder, "candidate.kvet", CANDIDATE)
    outcome = kvet("kernels", base, candidate).expect(0)
    lines = {line.split()[0]: line for line in outcome.out.splitlines() if line.strip()}
    check("only A" in lines.get("norm_kernel", ""), "norm_kernel is not said to be A's only", outcome)
    check("only B" in lines.get("fused_norm", ""), "fused_norm is not said to be B's only", outcome)
    check("only" not in lines.get("gemm_kernel", ""), "gemm_kernel is said to be one arm's", outcome)


@case(bpf)
def kernels_of_one_name_are_told_apart_by_their_code(folder):
    """Generated kernels often keep the stock kernel's name: the code's hash says that they differ."""
    base = record(folder, "base.kvet", BASE, "--code", 1)
    candidate = record(folder, "candidate.kvet", ["--kernel", "_Z11norm_kernelPf", "--kernel-us", "60"], "--code", 2)
    outcome, verdict = compare(base, candidate, "--claim", "1.5")
    ratio = level_3(verdict)
    check(ratio is not None and abs(ratio / PLANTED - 1) < 1e-3, f"level 3 is {ratio}, planted {PLANTED}", outcome)


@case(bpf)
def report_has_all_four_questions_in_json(folder):
    base = record(folder, "base.kvet", BASE)
    outcome = kvet("report", base, "--json").expect(0)
    document = json.loads(outcome.out)
    text = json.dumps(document)
    for question in ("occupancy", "dram", "dispatch", "nccl"):
        check(f'"{question}' in text, f"no {question} in the report", outcome)
