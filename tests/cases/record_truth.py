"""Recordings of workloads whose truth is known, made by real BPF programs and the real injected library on the stand-ins."""
import os

from harness import SIMCUDA, Skipped, bpf, case, check, compare_truth, kvet, simcuda_environment, workload


def record_serving(folder, executions, steps, mutant=""):
    truth = os.path.join(folder, "truth")
    os.mkdir(truth)
    capture = os.path.join(folder, "serving.kvet")
    environment = simcuda_environment(folder, devices=3, KVET_SIMCUDA_MUTANT=mutant)
    kvet("record", "-o", capture, "--counters", "off", "--", workload("serving"), "--truth", truth, "--executions", executions,
         "--steps", steps, environment=environment).expect(0)
    return compare_truth(capture, truth, "--executions", executions, "--processes", 3)


@case(bpf)
def everything_planted_is_in_the_file(folder):
    """3 processes, 4 streams each, 1 graph each, 50,000 executions, sleeps, a collective per step: all there, nothing lost."""
    differences = record_serving(folder, 50000, 60)
    check(not differences, "\n".join(differences.values()))


# What each planted fault must be caught by, and by nothing else: a comparison that fails for another reason proves nothing.
MUTANTS = {
    "drop_every_1000th": {"execution.missing", "execution.count", "launch.executions"},
    "counted_drop_every_1000th": {"execution.missing", "execution.count", "launch.executions", "loss"},
    "duplicate_every_1000th": {"execution.doubled", "execution.count", "launch.executions"},
    "clock_100us_off": {"execution.time"},
    "swap_streams": {"execution.stream"},
    "shift_correlation": {"execution.missing", "execution.unplanned", "launch.executions", "loss"},
    "shift_grid": {"execution.grid", "launch.kernel"},
    "drop_call_every_1000th": {"launch.missing", "launch.time", "launch.kind", "launch.executions", "launch.kernel",
                               "launch.causality"},
    "skip_sleep": {"sleep.missing"},
}
# Of the set above, what must be there in every run; the rest follows from it or depends on which record was hit.
CERTAIN = {
    "drop_every_1000th": {"execution.missing", "execution.count"},
    "counted_drop_every_1000th": {"execution.missing", "execution.count", "loss"},
    "duplicate_every_1000th": {"execution.doubled", "execution.count"},
    "shift_correlation": {"execution.missing", "execution.unplanned"},
    "drop_call_every_1000th": {"launch.missing"},
}


def mutant_is_caught(folder, mutant):
    found = set(record_serving(folder, 12000, 20, mutant))
    certain = CERTAIN.get(mutant, MUTANTS[mutant])
    check(certain <= found, f"{mutant} was not caught: found {sorted(found)}, not {sorted(certain)}")
    check(found <= MUTANTS[mutant], f"{mutant}: found {sorted(found - MUTANTS[mutant])} too")


def declare_mutants():
    for mutant in MUTANTS:
        def one(folder, mutant=mutant):
            mutant_is_caught(folder, mutant)
        one.__name__ = f"caught_{mutant}"
        case(bpf)(one)


declare_mutants()


@case(bpf)
def forked_workers_of_two_containers(folder):
    """100 forked workers in two mount namespaces that share a library: none missed, none doubled."""
    truth, scratch = os.path.join(folder, "truth"), os.path.join(folder, "scratch")
    os.mkdir(truth)
    os.mkdir(scratch)
    capture = os.path.join(folder, "workers.kvet")
    outcome = kvet("record", "-o", capture, "--counters", "off", "--", workload("fork_workers"), "--library", SIMCUDA, "--scratch",
                   scratch, "--truth", truth, "--workers", 100, "--launches", 20, "--at-once", 2,
                   environment=simcuda_environment(folder))
    if outcome.status == 77:
        raise Skipped("needs mount namespaces and overlay mounts")
    outcome.expect(0)
    differences = compare_truth(capture, truth, "--executions", 2000, "--processes", 100)
    check(not differences, "\n".join(differences.values()))
