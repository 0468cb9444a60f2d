# SPDX-License-Identifier: Apache-2.0
"""Sends requests to serve.py and prints what a user would feel. Standard library only.

Closed loop: --clients callers, each with one request in flight; lengths drawn from --seed, so that both arms serve the
same requests. Prints "throughput: X tok/s" and the latency's percentiles.
"""
import argparse
import http.client
import json
import random
import threading
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--clients", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    choose = random.Random(arguments.seed)
    todo = [{"prompt": [choose.randrange(32000) for _ in range(choose.choice((64, 96, 128, 192, 256)))],
             "new_tokens": choose.randrange(16, 96)} for _ in range(arguments.requests)]
    total = sum(request["new_tokens"] for request in todo)
    lock, latencies, failures = threading.Lock(), [], []

    def client():
        connection = http.client.HTTPConnection("127.0.0.1", arguments.port, timeout=120)
        while True:
            with lock:
                if not todo:
                    return
                request = todo.pop()
            begin = time.monotonic()
            try:
                connection.request("POST", "/generate", json.dumps(request))
                connection.getresponse().read()
            except OSError as error:
                failures.append(error)
                return
            with lock:
                latencies.append(time.monotonic() - begin)

    threads = [threading.Thread(target=client) for _ in range(arguments.clients)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begin
    if failures:
        raise SystemExit(f"load: {len(failures)} clients failed, the first with: {failures[0]}")
    latencies.sort()
    print(f"throughput: {total / seconds:.1f} tok/s")
    print(f"latency p50: {latencies[len(latencies) // 2] * 1e3:.1f} ms")
    print(f"latency p99: {latencies[int(len(latencies) * 0.99)] * 1e3:.1f} ms")
    print(f"requests: {len(latencies)} in {seconds:.2f} s")


if __name__ == "__main__":
    main()
