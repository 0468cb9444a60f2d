# SPDX-License-Identifier: Apache-2.0
"""Reads a capture by docs/capture-format.md alone, and states over time. Uses no code of kvet: what scores it must not share
its mistakes."""
import sqlite3

import numpy as np

HOST, ACTIVITY, COUNTERS = 0, 1, 2  # enumeration clock_source


class Capture:
    """Times are ns of CLOCK_MONOTONIC since `base`, so that doubles hold them exactly."""

    def __init__(self, path, base=None):
        self.file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.file.text_factory = lambda text: text.decode(errors="replace")  # names come from the target
        self.meta = dict(self.file.execute("SELECT key, value FROM meta"))
        self.start_ns = int(self.meta["record.start_ns"])
        self.base = self.start_ns if base is None else base
        device = self.file.execute("SELECT multiprocessors, max_warps_per_multiprocessor, memory_bandwidth_bytes_per_s "
                                   "FROM device WHERE id = 0").fetchone()
        self.multiprocessors, self.warps, self.bandwidth = device
        self.slots = self.multiprocessors * self.warps
        self._mappings = {}
        self._read_executions()
        self._read_samples()

    def _mapping(self, source):
        if source not in self._mappings:
            self._mappings[source] = self.file.execute(
                "SELECT from_ns, offset_ns, drift_ns_per_s, residual_ns FROM clock_mapping "
                "WHERE source = ? AND (device_id IS NULL OR device_id = 0) ORDER BY from_ns", (source,)).fetchall()
        return self._mappings[source]

    def monotonic(self, source, start, end):
        """Both ends by the row that holds at the start."""
        rows = self._mapping(source)
        if not rows:
            return start - self.base, end - self.base
        begins = np.array([row[0] for row in rows], np.int64)
        row = np.maximum(0, np.searchsorted(begins, start, side="right") - 1)
        offset = np.array([row[1] for row in rows], np.int64)[row] - self.base
        drift = np.array([row[2] for row in rows])[row]
        shift = lambda t: t + offset + np.rint(drift * (t - begins[row]) / 1e9).astype(np.int64)
        return shift(start), shift(end)

    def _table(self, query):
        rows = self.file.execute(query).fetchall()
        return list(zip(*rows)) if rows else None

    def _read_executions(self):
        columns = self._table("SELECT e.start_ns, e.duration_ns, e.stream_id, e.process_id, s.value FROM execution e "
                              "JOIN kernel_shape k ON k.id = e.shape_id JOIN string s ON s.id = k.name_id "
                              "WHERE e.device_id = 0 ORDER BY e.start_ns")
        if columns is None:
            columns = [[], [], [], [], []]
        start = np.array(columns[0], np.int64)
        start, end = self.monotonic(ACTIVITY, start, start + np.array(columns[1], np.int64))
        self.execution_start, self.execution_end = start, end
        self.execution_stream = np.array(columns[2])
        self.execution_name = np.array(columns[4])

    def _read_samples(self):
        self.fields = ["cycles_elapsed", "sm_active_cycles", "warp_cycles", "register_cycles", "shared_byte_cycles",
                       "dram_read_bytes", "dram_write_bytes"]
        columns = self._table(f"SELECT start_ns, duration_ns, {', '.join(self.fields)} FROM sample "
                              "WHERE device_id = 0 AND duration_ns > 0 ORDER BY start_ns")
        if columns is None:
            columns = [[] for _ in range(2 + len(self.fields))]
        start = np.array(columns[0], np.int64)
        self.sample_raw_start, self.sample_raw_end = start, start + np.array(columns[1], np.int64)
        begin, end = self.monotonic(COUNTERS, start, self.sample_raw_end)
        rows = self._mapping(COUNTERS)
        verified = [row for row in rows if row[3] is not None]
        self.residual_ns = max((row[3] for row in verified), default=None)
        # Before the first verified mapping the times are rough.
        keep = np.ones(len(start), bool) if not verified else start >= verified[0][0]
        order = np.nonzero(keep)[0]
        self.sample_start, self.sample_end = begin[order], end[order]
        for i, field in enumerate(self.fields):
            values = np.array([np.nan if v is None else v for v in columns[2 + i]], float)
            setattr(self, field, values[order])
        self.resident = self.warp_cycles / np.where(self.cycles_elapsed > 0, self.cycles_elapsed, np.nan)  # warps, whole device

    @property
    def guard_ns(self):
        return 3 * (self.residual_ns or 0)

    def spans(self, name):
        chosen = self.execution_name == name
        return merged(self.execution_start[chosen], self.execution_end[chosen])


def merged(start, end):
    """Overlapping intervals become one."""
    order = np.argsort(start, kind="stable")
    out = []
    for a, b in zip(start[order].tolist(), end[order].tolist()):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return np.array(out, np.int64).reshape(-1, 2)


class Spans:
    """Disjoint sorted intervals, with the time that they cover in any other interval."""

    def __init__(self, spans):
        self.spans = np.asarray(spans, np.int64).reshape(-1, 2)
        lengths = self.spans[:, 1] - self.spans[:, 0]
        self.edges = self.spans.reshape(-1).astype(float)
        self.covered_to = np.repeat(np.concatenate([[0], np.cumsum(lengths)]), 2)[1:-1].astype(float)

    def total(self):
        return float((self.spans[:, 1] - self.spans[:, 0]).sum())

    def covered(self, start, end):
        if not len(self.edges):
            return np.zeros(len(start))
        at = lambda t: np.interp(t, self.edges, self.covered_to, left=0, right=self.covered_to[-1])
        return at(end) - at(start)


class States:
    """Which of `names` run, as bit masks over time."""

    def __init__(self, capture, names):
        self.names = names
        times, change = [], []
        for bit, name in enumerate(names):
            spans = capture.spans(name)
            times += [spans[:, 0], spans[:, 1]]
            change += [np.full(len(spans), 1 << bit), np.full(len(spans), -(1 << bit))]
        times, change = np.concatenate(times), np.concatenate(change)
        order = np.argsort(times, kind="stable")
        self.times, self.masks = times[order], np.cumsum(change[order])

    def spans(self, wanted):
        """Time in which wanted(mask) holds."""
        hold = np.array([wanted(int(mask)) for mask in range(1 << len(self.names))])[self.masks[:-1]]
        pieces = np.stack([self.times[:-1], self.times[1:]], 1)[hold]
        return Spans(merged(pieces[:, 0], pieces[:, 1]) if len(pieces) else pieces)
