# SPDX-License-Identifier: Apache-2.0
"""A small serving loop: continuous batching with prefill and decode, and an index refresh on a second stream.

  GET  /health    200 once warm
  POST /generate  {"requests": [{"prompt": [tokens], "new_tokens": n}, …]}  →  {"seconds": [latency of each]}
  GET  /stats     counters

One thread (the dispatcher) admits requests in the order in which they came, runs prefill eagerly and decode as CUDA graphs
for batches up to 32, eagerly above. The same requests in one POST give the same batches, step by step: what differs
between two runs is time. A second thread embeds documents on a low-priority stream, as a server that refreshes its index does.
NORM=stock|generated|triton selects the normalisation (norms.py).
"""
import argparse
import collections
import http.server
import json
import os
import signal
import threading
import time

import torch

import norms
from model import HIDDEN, MAX_LENGTH, Model

GRAPH_BATCHES = (8, 16, 32)
SLOTS = 48


class Request:
    def __init__(self, prompt, new_tokens):
        self.prompt = prompt
        self.left = new_tokens
        self.slot = self.length = self.token = self.seconds = None
        self.asked = time.monotonic()
        self.done = threading.Event()

    def finish(self):
        self.seconds = time.monotonic() - self.asked
        self.done.set()


class Engine:
    def __init__(self, layers):
        self.model = Model(norms.make(os.environ.get("NORM", "stock")), layers, SLOTS + 1)
        self.waiting = collections.deque()
        self.active = []
        self.free = list(range(SLOTS))
        self.steps = self.tokens = 0
        self.graphs = {}

    def warm_up(self):
        for batch in GRAPH_BATCHES + (SLOTS,):
            # Slot SLOTS belongs to nobody: padding and warm-up write there.
            inputs = [torch.zeros(batch, dtype=torch.long, device="cuda"),
                      torch.full((batch,), SLOTS, dtype=torch.long, device="cuda"),
                      torch.zeros(batch, dtype=torch.long, device="cuda")]
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(2):
                    self.model.decode(*inputs)
            side.synchronize()
            if batch in GRAPH_BATCHES:
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    output = self.model.decode(*inputs)
                self.graphs[batch] = (graph, inputs, output)
        for length in (64, 128, 256):
            self.model.prefill(torch.zeros(length, dtype=torch.long, device="cuda"), SLOTS)
        torch.cuda.synchronize()

    def admit(self):
        while self.free and self.waiting:
            request = self.waiting.popleft()
            torch.cuda.nvtx.range_push("prefill")
            request.slot = self.free.pop()
            request.length = len(request.prompt)
            token = self.model.prefill(torch.tensor(request.prompt, device="cuda"), request.slot)
            request.token = int(token)
            torch.cuda.nvtx.range_pop()
            self.active.append(request)

    def decode(self):
        torch.cuda.nvtx.range_push("decode")
        count = len(self.active)
        batch = next((size for size in GRAPH_BATCHES if size >= count), count)
        pad = batch - count
        host = torch.tensor([[r.token for r in self.active] + [0] * pad,
                             [r.slot for r in self.active] + [SLOTS] * pad,
                             [r.length for r in self.active] + [0] * pad])
        if batch in self.graphs:
            graph, inputs, output = self.graphs[batch]
            for target, values in zip(inputs, host.to("cuda", non_blocking=True)):
                target.copy_(values)
            graph.replay()
        else:
            output = self.model.decode(*host.to("cuda", non_blocking=True))
        tokens = output.tolist()
        torch.cuda.nvtx.range_pop()
        still = []
        for request, token in zip(self.active, tokens):
            request.token = token
            request.length += 1
            request.left -= 1
            if request.left > 0 and request.length < MAX_LENGTH - 1:
                still.append(request)
            else:
                self.free.append(request.slot)
                request.finish()
        self.active = still
        self.steps += 1
        self.tokens += count

    def run(self, stopping):
        while not stopping.is_set():
            if not self.waiting and not self.active:
                time.sleep(0.0005)
                continue
            torch.cuda.nvtx.range_push("step")
            self.admit()
            self.decode()
            torch.cuda.nvtx.range_pop()


class IndexRefresh(threading.Thread):
    """Embeds batches of documents on a stream of its own: matrix products that want whole SMs, then a pooling."""

    def __init__(self, stopping, documents, rest_seconds):
        super().__init__()
        self.stopping, self.rest_seconds = stopping, rest_seconds
        self.documents = torch.randn(documents, HIDDEN, device="cuda", dtype=torch.bfloat16)
        self.up = torch.randn(2 * HIDDEN, HIDDEN, device="cuda", dtype=torch.bfloat16) * 0.02
        self.down = torch.randn(HIDDEN, 2 * HIDDEN, device="cuda", dtype=torch.bfloat16) * 0.02
        self.batches = 0

    def run(self):
        stream = torch.cuda.Stream(priority=0)
        with torch.inference_mode(), torch.cuda.stream(stream):
            while not self.stopping.is_set():
                torch.cuda.nvtx.range_push("index refresh")
                hidden = torch.nn.functional.gelu(torch.nn.functional.linear(self.documents, self.up))
                pooled = torch.nn.functional.linear(hidden, self.down).float().mean(dim=0)
                torch.cuda.nvtx.range_pop()
                stream.synchronize()
                self.batches += 1
                del pooled
                time.sleep(self.rest_seconds)


def make_handler(engine, refresh):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def reply(self, value):
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.reply({"steps": engine.steps, "tokens": engine.tokens, "refreshed": refresh.batches if refresh else 0})

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["requests"]
            requests = [Request(one["prompt"], one["new_tokens"]) for one in asked]
            engine.waiting.extend(requests)
            for request in requests:
                request.done.wait()
            self.reply({"seconds": [request.seconds for request in requests]})

        def log_message(self, *_):
            pass

    return Handler


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--documents", type=int, default=1024, help="documents in a batch of the index refresh; 0: none")
    parser.add_argument("--rest", type=float, default=0.001, help="seconds between batches of the index refresh")
    parser.add_argument("--torch-profiler", action="store_true", help="run under torch.profiler, to compare its cost")
    arguments = parser.parse_args()

    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    with torch.inference_mode():
        engine = Engine(arguments.layers)
        engine.warm_up()
        refresh = IndexRefresh(stopping, arguments.documents, arguments.rest) if arguments.documents else None
        server = http.server.ThreadingHTTPServer(("127.0.0.1", arguments.port), make_handler(engine, refresh))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        if refresh:
            refresh.start()
        print("ready", flush=True)
        if arguments.torch_profiler:
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
                engine.run(stopping)
        else:
            engine.run(stopping)
    server.shutdown()
    if refresh:
        refresh.join()
    torch.cuda.synchronize()
    print(f"served {engine.tokens} tokens in {engine.steps} steps", flush=True)


if __name__ == "__main__":
    main()
