# SPDX-License-Identifier: Apache-2.0
"""Two ranks all-reduce after uneven work, and each writes down when it was ready: what kvet's arrival wait is held against.

  python two_ranks.py --late 1 --steps 50 --out TIMES.tsv

Each step: a few matrix products (more on the late rank), a device synchronisation, one all-reduce, another
synchronisation. A row per rank and step: rank, step, ready_ns, done_ns (CLOCK_MONOTONIC, read on the host between
synchronisation and the call). A rank's own wait is the latest ready_ns of the step minus its own.
"""
import argparse
import os
import time

import torch
import torch.distributed as distributed
import torch.multiprocessing as multiprocessing


def rank_main(rank, arguments, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    distributed.init_process_group("nccl", rank=rank, world_size=2, device_id=torch.device("cuda", rank))
    matrix = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    gradient = torch.ones(arguments.elements, device="cuda", dtype=torch.bfloat16)
    products = arguments.late_products if rank == arguments.late else arguments.early_products
    rows = []
    for step in range(-3, arguments.steps):  # three steps of warm-up
        for _ in range(products):
            matrix @ matrix
        torch.cuda.synchronize()
        ready = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        distributed.all_reduce(gradient)
        torch.cuda.synchronize()
        done = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if step >= 0:
            rows.append(f"{rank}\t{step}\t{ready}\t{done}\n")
    with open(f"{arguments.out}.rank{rank}", "w") as out:
        out.writelines(rows)
    distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--late", type=int, default=1, choices=(0, 1))
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--early-products", type=int, default=2)
    parser.add_argument("--late-products", type=int, default=20)
    parser.add_argument("--elements", type=int, default=16 << 20)
    parser.add_argument("--port", type=int, default=29517)
    parser.add_argument("--out", default="times.tsv")
    arguments = parser.parse_args()
    multiprocessing.spawn(rank_main, (arguments, arguments.port), nprocs=2)
    with open(arguments.out, "w") as out:
        out.write("rank\tstep\tready_ns\tdone_ns\n")
        for rank in (0, 1):
            with open(f"{arguments.out}.rank{rank}") as part:
                out.write(part.read())
            os.unlink(f"{arguments.out}.rank{rank}")


if __name__ == "__main__":
    main()
