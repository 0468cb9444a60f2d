# SPDX-License-Identifier: Apache-2.0
"""The microbenchmark behind the claim: one shape, one stream, an idle GPU, warm caches. Prints "time: X us"."""
import argparse
import os

import torch

import norms
from model import HIDDEN


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=2000)
    arguments = parser.parse_args()
    norm = norms.make(os.environ.get("NORM", "stock"))
    residual = torch.zeros(arguments.rows, HIDDEN, device="cuda", dtype=torch.bfloat16)
    update = torch.randn(arguments.rows, HIDDEN, device="cuda", dtype=torch.bfloat16)
    weight = torch.ones(HIDDEN, device="cuda", dtype=torch.bfloat16)
    with torch.inference_mode():
        for _ in range(10):
            norm(residual, update, weight)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(100):
                norm(residual, update, weight)
        graph.replay()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(arguments.repeats // 100):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
    print(f"time: {begin.elapsed_time(end) * 1e3 / (arguments.repeats // 100 * 100):.3f} us")


if __name__ == "__main__":
    main()
