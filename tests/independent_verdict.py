#!/usr/bin/env python3
"""The ratio at level 3 and its word, calculated from the captures of an experiment by SQL and Python alone.

    independent_verdict.py RESULT_FOLDER

Nothing of kvet's code is used; only what docs/capture-format.md says about the file and questions.md about the numbers: the
kernel set is what only one arm runs, its time per step is the union of its executions on each device over the window ÷ the
number of steps, a quad is one contrast, and the interval is Student's t over quads at 98.3%. Prints one JSON object, and
compares it with verdict.json where the folder holds one: exit status 0 when both agree, 1 when they do not.
"""
import collections
import glob
import json
import math
import os
import re
import sqlite3
import sys

MARGIN, CLAIM_SHARE, CONFIDENCE, AA_CONFIDENCE = math.log(1.02), 0.8, 0.983, 0.99
LAUNCH_KERNEL, LAUNCH_COOPERATIVE, LAUNCH_GRAPH = 0, 1, 2


def t_distribution(value, freedom):
    """P(T <= value) by Simpson's rule on the density, whose constant comes from the gamma function."""
    constant = math.gamma((freedom + 1) / 2) / (math.sqrt(freedom * math.pi) * math.gamma(freedom / 2))
    steps = 20000
    width = value / steps
    density = lambda x: (1 + x * x / freedom) ** (-(freedom + 1) / 2)
    total = density(0) + density(value)
    for i in range(1, steps):
        total += (4 if i % 2 else 2) * density(i * width)
    return 0.5 + constant * total * width / 3


def t_quantile(probability, freedom):
    low, high = 0.0, 1000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_distribution(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def interval(units, confidence):
    mean = sum(units) / len(units)
    deviation = math.sqrt(sum((u - mean) ** 2 for u in units) / (len(units) - 1))
    half = t_quantile((1 + confidence) / 2, len(units) - 1) * deviation / math.sqrt(len(units))
    return mean, mean - half, mean + half


class Block:
    def __init__(self, path):
        self.path = path
        self.database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.meta = dict(self.database.execute("SELECT key, value FROM meta"))
        self.kind, self.arm = self.meta["experiment.kind"], self.meta["experiment.arm"]
        self.quad, self.position = int(self.meta["experiment.quad"]), int(self.meta["experiment.position"])
        self.window = int(self.meta["window.from_ns"]), int(self.meta["window.to_ns"])
        offset = self.database.execute("SELECT offset_ns FROM clock_mapping WHERE source = 1").fetchone()
        if offset and offset[0] != 0:
            raise SystemExit(f"{path}: executions on another clock are not handled here")
        self.executions = [row for row in self.database.execute("""
            SELECT n.value, s.code_hash, x.process_id, x.device_id, x.context_id, x.stream_id, x.correlation_id, x.graph_node_id,
                   x.start_ns, x.start_ns + x.duration_ns
            FROM execution x JOIN kernel_shape s ON s.id = x.shape_id JOIN string n ON n.id = s.name_id
            WHERE x.start_ns >= ? AND x.start_ns < ?""", self.window)]

    def times(self):
        result = collections.Counter()
        for row in self.executions:
            result[row[0], row[1]] += row[9] - row[8]
        return result

    def union(self, names):
        total = 0
        for device in {row[3] for row in self.executions}:
            end = -1
            for start, stop in sorted((r[8], r[9]) for r in self.executions if r[3] == device and (r[0], r[1]) in names):
                total += max(0, stop - max(start, end))
                end = max(end, stop)
        return total

    def ranges(self):
        """Collapsed name -> list of (process, thread, start, end)."""
        result = collections.defaultdict(list)
        for process, thread, name, start, end in self.database.execute("""
                SELECT r.process_id, r.thread_id, n.value, r.start_ns, r.start_ns + r.duration_ns FROM nvtx_range r
                JOIN string n ON n.id = r.name_id WHERE r.start_ns >= ? AND r.start_ns < ?""", self.window):
            result[re.sub("[0-9]+", "#", name)].append((process, thread, start, end))
        return result

    def set_launches(self, names):
        """(process, thread, time) of the calls that launched the set."""
        wanted = {(r[2], r[6]) for r in self.executions if (r[0], r[1]) in names}
        return [(process, thread, start) for process, thread, correlation, start in self.database.execute(
            "SELECT process_id, thread_id, correlation_id, start_ns FROM api_call WHERE kind IN (?, ?, ?)",
            (LAUNCH_KERNEL, LAUNCH_COOPERATIVE, LAUNCH_GRAPH)) if (process, correlation) in wanted]


def holds_launch(ranges, launches):
    by_thread = collections.defaultdict(list)
    for process, thread, start, end in ranges:
        by_thread[process, thread].append((start, end))
    return any(start <= time <= end for process, thread, time in launches for start, end in by_thread[process, thread])


def find_set(blocks):
    time = {"baseline": collections.Counter(), "candidate": collections.Counter()}
    for block in blocks:
        time[block.arm].update(block.times())
    share = {arm: {key: t / sum(times.values()) for key, t in times.items()} for arm, times in time.items()}
    names = set()
    for arm, other in (("baseline", "candidate"), ("candidate", "baseline")):
        names |= {key for key, own in share[arm].items() if share[other].get(key, 0) < 0.001 * own}
    return names


def steps_of(blocks, names):
    """How to count steps, the same in every block: the most frequent NVTX range that launches the set, else graph launches."""
    ranges = [block.ranges() for block in blocks]
    launches = [block.set_launches(names) for block in blocks]
    common = set.intersection(*({name for name, list_ in r.items() if len(list_) >= 2 and holds_launch(list_, l)}
                                for r, l in zip(ranges, launches)))
    if common:
        best = max(common, key=lambda name: sum(len(r[name]) for r in ranges))
        return f"NVTX '{best}'", lambda block: len(block.ranges()[best])
    in_graph = [sum(r[9] - r[8] for r in b.executions if (r[0], r[1]) in names and r[7]) for b in blocks]
    if all(g > 0 and g >= block.union(names) / 2 for g, block in zip(in_graph, blocks)):
        return "graph launches", lambda block: len({(r[2], r[6]) for r in block.executions if (r[0], r[1]) in names and r[7]})
    raise SystemExit("no NVTX range and no graph marks the steps: not handled here")


def contrasts(blocks, kind, value):
    quads = collections.defaultdict(dict)
    for block in blocks:
        if block.kind == kind:
            quads[block.quad][block.position] = block
    units = []
    for number, quad in sorted(quads.items()):
        if len(quad) != 4:
            continue
        logs = {position: math.log(value[block.path]) for position, block in quad.items()}
        outer, inner = (logs[0] + logs[3]) / 2, (logs[1] + logs[2]) / 2
        outer_is_first = number % 2 == 0 if kind == "aa" else quad[0].arm == "baseline"
        units.append(outer - inner if outer_is_first else inner - outer)
    return units


def word_of(low, high, claim):
    cut = CLAIM_SHARE * math.log(claim)
    for word, floor, ceiling in (("REGRESSES", -math.inf, -MARGIN), ("VANISHES", -MARGIN, MARGIN), ("PARTIAL", MARGIN, cut),
                                 ("SURVIVES", cut, math.inf)):
        if low >= floor and high <= ceiling:
            return word
    return "INCONCLUSIVE"


def main():
    folder = sys.argv[1]
    blocks = [Block(path) for path in sorted(glob.glob(os.path.join(folder, "captures", "*.kvet")))]
    both = [block for block in blocks if block.kind == "ab"]
    names = find_set(both)
    how, count = steps_of(both, names)
    value = {block.path: block.union(names) / count(block) for block in blocks}
    units = contrasts(blocks, "ab", value)
    look = max((n for n in (4, 8, 16) if n <= len(units)), default=len(units))
    fixed = int(both[0].meta.get("experiment.fixed_quads", "0"))
    look = fixed if 0 < fixed <= len(units) else look
    mean, low, high = interval(units[:look], CONFIDENCE)
    claim = float(both[0].meta["experiment.claim"])
    result = {"kernels": sorted(name for name, _ in names), "step": how, "quads": look, "ratio": math.exp(mean), "low": math.exp(low),
              "high": math.exp(high), "word_at_level_3": word_of(low, high, claim)}
    baseline = contrasts(blocks, "aa", value)
    if len(baseline) >= 4:
        _, aa_low, aa_high = interval(baseline, AA_CONFIDENCE)
        result["stable"] = aa_low <= 0 <= aa_high
    agree = True
    path = os.path.join(folder, "verdict.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            verdict = json.load(file)
        level, = [level for level in verdict["levels"] if level["number"] == 3]
        theirs = level["estimate"]
        result["kvet"] = {"word": verdict["word"], "ratio": theirs["ratio"], "low": theirs["interval"]["low"],
                          "high": theirs["interval"]["high"]}
        agree = all(abs(math.log(theirs_value / result[key])) < 1e-6 for key, theirs_value in result["kvet"].items() if key != "word")
        # End to end, refusals and checks may still turn the word of level 3 into another.
        overruled = verdict["refusals"] or verdict["invalid"] or verdict["word"] in ("REGRESSES", "INCONCLUSIVE")
        agree = agree and bool(verdict["word"] == result["word_at_level_3"] or overruled)
        agree = agree and not (result.get("stable") is False and verdict["word"] != "REFUSED")
    result["agree"] = agree
    print(json.dumps(result, indent=1))
    sys.exit(0 if agree else 1)


if __name__ == "__main__":
    main()
