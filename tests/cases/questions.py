"""The numbers of `kvet report` against what the workload was made to do: by hand calculation, and from the truth file."""
import json
import os

from harness import bpf, case, check, kvet, simcuda_environment, workload

WARP_SLOTS, MULTIPROCESSORS = 64, 132  # simcuda/device/limits.h


def report(capture, *kernels):
    options = [option for kernel in kernels for option in ("--kernel", kernel)]
    outcome = kvet("report", capture, *options, "--json").expect(0)
    document, = json.loads(outcome.out)["captures"]
    return document


def find(findings, wanted, beside=""):
    """The one finding of that id about that thing."""
    found = [finding for finding in findings if finding["id"] == wanted and finding["beside"] == beside]
    check(len(found) == 1, f"{len(found)} findings {wanted} beside {beside!r}, not 1")
    return found[0]


def close(finding, expected, relative):
    value = finding["value"]
    check(value is not None, f"{finding['id']} is unavailable: {finding['reason']}")
    check(abs(value - expected) <= relative * abs(expected), f"{finding['id']} is {value}, not {expected}")


@case(bpf)
def occupancy_and_dram_of_known_kernels(folder):
    """variant.cpp: norm_kernel, 132 blocks of 8 warps, 40 registers; gemm_kernel, 132 blocks of 4 warps, 128 registers, 33 KiB."""
    capture = os.path.join(folder, "variant.kvet")
    kvet("record", "-o", capture, "--interval", "10us", "--", workload("variant"), "--steps", 300, "--think-us", 2000,
         environment=simcuda_environment(folder)).expect(0)
    norm = report(capture, "norm_kernel")["kernels"][0]["findings"]
    # 40 registers × 32 × 8 warps = 10240: 6 blocks of 8 warps in 65536 registers, of 64 slots.
    close(find(norm, "occupancy.theoretical"), 75, 1e-9)
    close(find(norm, "occupancy.waves"), 132 / (6 * 132), 1e-9)
    # One block on each multiprocessor while it runs.
    close(find(norm, "occupancy.solo"), 100 * 8 / WARP_SLOTS, 0.005)
    gemm = report(capture, "gemm_kernel")["kernels"][0]["findings"]
    close(find(gemm, "occupancy.theoretical"), 25, 1e-9)
    close(find(gemm, "occupancy.solo"), 100 * 4 / WARP_SLOTS, 0.005)
    read, written = 132 * 262144, 132 * 32768
    close(find(gemm, "dram.solo.read"), read / 40e-6, 0.005)
    close(find(gemm, "dram.solo.write"), written / 40e-6, 0.005)
    close(find(gemm, "dram.bytes_per_execution"), read + written, 0.005)


def collectives_of_truth(directory):
    """By sequence number, the start and end of each rank's collective."""
    all_ranks = {}
    for name in os.listdir(directory):
        with open(os.path.join(directory, name), encoding="utf-8") as lines:
            for line in lines:
                row = line.rstrip("\n").split("\t")
                if row[0] == "execution" and row[12] == "1":
                    start, end, rank, sequence = int(row[9]), int(row[10]), int(row[13]), int(row[14])
                    all_ranks.setdefault(sequence, {})[rank] = (start, end)
    return all_ranks


@case(bpf)
def waits_and_stragglers_of_collectives(folder):
    truth = os.path.join(folder, "truth")
    os.mkdir(truth)
    capture = os.path.join(folder, "serving.kvet")
    steps = 40
    kvet("record", "-o", capture, "--counters", "off", "--", workload("serving"), "--truth", truth, "--executions", 20000, "--steps",
         steps, environment=simcuda_environment(folder, devices=3)).expect(0)
    collectives = collectives_of_truth(truth)
    check(len(collectives) == steps and all(len(ranks) == 3 for ranks in collectives.values()), "the truth lacks collectives")
    findings = report(capture)["findings"]
    close(find(findings, "nccl.collectives"), steps * 3, 0)
    for rank in range(3):
        waits = [max(0, min(ranks[rank][1], max(s for s, _ in ranks.values())) - ranks[rank][0]) for ranks in collectives.values()]
        close(find(findings, "nccl.arrival_wait.total", f"rank {rank}"), sum(waits), 1e-3)
        last = sum(1 for ranks in collectives.values() if max(ranks, key=lambda r: ranks[r][0]) == rank)
        close(find(findings, "nccl.straggler.share", f"rank {rank}"), 100 * last / steps, 1e-9)
        # simcuda/nccl/nccl.cpp: 10 µs and 2 × (n − 1) ÷ n of 4 MiB at 450 bytes per ns.
        close(find(findings, "nccl.transfer.p50", f"rank {rank}"), 10000 + (4 << 20) * 2 * 2 / 3 / 450, 1e-3)
