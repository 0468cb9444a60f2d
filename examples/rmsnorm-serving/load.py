# SPDX-License-Identifier: Apache-2.0
"""Sends requests to serve.py and prints what a user would feel. Standard library only.

All requests go in one POST, so that both arms serve the same batches in the same order; lengths are drawn from --seed.
Prints "throughput: X tok/s" and the percentiles of the latency.
"""
import argparse
import json
import random
import time
import urllib.request


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--requests", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    choose = random.Random(arguments.seed)
    requests = [{"prompt": [choose.randrange(32000) for _ in range(choose.choice((64, 96, 128, 192, 256)))],
                 "new_tokens": choose.randrange(16, 96)} for _ in range(arguments.requests)]
    body = json.dumps({"requests": requests}).encode()
    begin = time.monotonic()
    with urllib.request.urlopen(f"http://127.0.0.1:{arguments.port}/generate", body, timeout=300) as answer:
        latencies = sorted(json.load(answer)["seconds"])
    seconds = time.monotonic() - begin
    print(f"throughput: {sum(request['new_tokens'] for request in requests) / seconds:.1f} tok/s")
    print(f"latency p50: {latencies[len(latencies) // 2] * 1e3:.1f} ms")
    print(f"latency p99: {latencies[int(len(latencies) * 0.99)] * 1e3:.1f} ms")
    print(f"requests: {len(latencies)} in {seconds:.2f} s")


if __name__ == "__main__":
    main()
