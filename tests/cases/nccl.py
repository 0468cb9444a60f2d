"""Who made the other ranks wait: four ranks on the stand-ins with a planted reason, recorded, and asked. Truth is the device model's."""
import json
import os

from harness import bpf, case, check, kvet, simcuda_environment, workload

RANKS, STEPS = 4, 30
SLOW_US = 2000


def record(folder, *options):
    """The findings about k_kernel, the findings about the capture, and the truth: each collective's (start, end) by rank."""
    truth, capture = os.path.join(folder, "truth"), os.path.join(folder, "ranks.kvet")
    os.mkdir(truth)
    kvet("record", "-o", capture, "--counters", "off", "--", workload("ranks"), "--truth", truth, "--ranks", RANKS, "--steps", STEPS,
         *options, environment=simcuda_environment(folder, devices=RANKS)).expect(0)
    outcome = kvet("report", capture, "--kernel", "k_kernel", "--json").expect(0)
    document, = json.loads(outcome.out)["captures"]
    return document["kernels"][0]["findings"] + document["findings"], collectives_of_truth(truth)


def collectives_of_truth(directory):
    """Of the communicator of all ranks: by sequence number, the start and end of each rank's all-reduce."""
    all_ranks = {}
    for name in os.listdir(directory):
        with open(os.path.join(directory, name), encoding="utf-8") as lines:
            for line in lines:
                row = line.rstrip("\n").split("\t")
                if row[0] == "execution" and row[12] == "1" and "AllReduce" in row[2]:
                    all_ranks.setdefault(int(row[14]), {})[int(row[13])] = (int(row[9]), int(row[10]))
    check(len(all_ranks) == 4 * STEPS and all(len(ranks) == RANKS for ranks in all_ranks.values()), "the truth lacks collectives")
    return all_ranks


def value(findings, wanted, beside=""):
    found = {(f["value"], f["reason"]) for f in findings
             if f["id"] == wanted and f["beside"] == beside and (f["subject"] == "k_kernel" or "collectives: all" in f["subject"])}
    check(len(found) == 1, f"{len(found)} values of {wanted} beside {beside!r}, not 1")
    (number, reason), = found
    check(number is not None, f"{wanted} is unavailable: {reason}")
    return number


def close(findings, wanted, beside, expected, relative, least=0):
    number = value(findings, wanted, beside)
    check(abs(number - expected) <= max(relative * abs(expected), least), f"{wanted} of {beside} is {number}, not {expected}")


def causes(findings):
    return {f["beside"]: f["value"] for f in findings if f["id"] == "nccl.blame.cause"}


def check_waits(findings, collectives):
    """Waits and transfers against the device model, by the definition."""
    latest = {sequence: max(start for start, _ in ranks.values()) for sequence, ranks in collectives.items()}
    for rank in range(RANKS):
        waits = [latest[s] - ranks[rank][0] for s, ranks in collectives.items()]
        close(findings, "nccl.arrival_wait.total", f"rank {rank}", sum(waits), 0.01, 2000 * len(waits))
        transfers = sorted(ranks[rank][1] - latest[s] for s, ranks in collectives.items())
        close(findings, "nccl.transfer.p50", f"rank {rank}", (transfers[len(transfers) // 2 - 1] + transfers[len(transfers) // 2]) / 2, 0.01)


def planted_kernel(folder, *options):
    slow = 2
    findings, collectives = record(folder, "--slow-rank", slow, "--slow-us", SLOW_US, *options)
    check_waits(findings, collectives)
    # In the slow layer every other rank waits for the planted time; what it varies by itself comes on top in eager runs.
    planted = (RANKS - 1) * SLOW_US * 1000
    relative = 0.01 if "--graph" in options else 0.03
    close(findings, "nccl.blame", f"rank {slow}", planted, relative)
    for rank in range(RANKS):
        if rank != slow:
            check(value(findings, "nccl.blame", f"rank {rank}") == 0, f"rank {rank} is blamed too")
    check(max(causes(findings).items(), key=lambda item: item[1])[0] == f"k_kernel on rank {slow}", f"causes: {causes(findings)}")
    return findings


@case(bpf)
def the_planted_kernel_is_blamed_eager(folder):
    planted_kernel(folder)


@case(bpf)
def the_planted_kernel_is_blamed_in_replayed_graphs(folder):
    findings = planted_kernel(folder, "--graph", 1)
    # A replay makes no host call: communicator and size are those of the captured calls that the nodes are bound to.
    wait, = [f for f in findings if f["id"] == "nccl.arrival_wait.p50" and f["beside"] == "rank 0"]
    check(wait["evidence"] == "measured" and wait["subject"].endswith("all_reduce of 4 MiB"), f"{wait}")


@case(bpf)
def nobody_is_blamed_where_nothing_is_planted(folder):
    """Of the kernels: how soon four processes get two CPUs is not for the workload to say, so dispatchers may be late."""
    findings, collectives = record(folder)
    check_waits(findings, collectives)
    for rank in range(RANKS):
        check(value(findings, "nccl.blame", f"rank {rank}") == 0, f"k_kernel on rank {rank} is blamed")


@case(bpf)
def a_late_dispatcher_is_blamed(folder):
    findings, collectives = record(folder, "--graph", 1, "--late-rank", 1, "--late-us", 20000)
    check_waits(findings, collectives)
    named = causes(findings)
    check("the dispatcher on rank 1" in named, f"causes: {named}")
    check(value(findings, "nccl.blame", "rank 1") == 0, "k_kernel is blamed for its dispatcher")


@case(bpf)
def a_collective_that_spins_beside_a_kernel_does_not_make_it_to_blame(folder):
    findings, _ = record(folder, "--spin-rank", 1)
    check("k_kernel, beside a collective on rank 1" in causes(findings), f"causes: {causes(findings)}")
    for finding in findings:
        if finding["id"] == "nccl.blame" and finding["subject"] == "k_kernel":
            check(not finding["value"], f"k_kernel is blamed: {finding['sentence']}")
