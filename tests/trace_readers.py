"""Reads exported traces back without kvet: Perfetto's by protoc, Chrome's by Python's json. Both give the same Trace."""
import codecs
import collections
import json
import os
import shutil
import subprocess

from harness import TESTS, Skipped, check

PROTO = os.path.join(TESTS, "export", "perfetto_subset.proto")

Slice = collections.namedtuple("Slice", "track start end name category arguments flows_out flow_in")
Value = collections.namedtuple("Value", "track time value")
Track = collections.namedtuple("Track", "path unit pid tid")  # path: names from the outermost group down


class Trace:
    def __init__(self):
        self.tracks, self.slices, self.values = {}, [], []

    def of(self, category):
        return [s for s in self.slices if s.category == category]

    def counter(self, name):
        return [v for v in self.values if self.tracks[v.track].path[-1] == name]

    def flows(self):
        """How many flows have both ends; that each id has one beginning and one end at most, and begins no later than it ends."""
        begun = collections.Counter(flow for s in self.slices for flow in s.flows_out)
        ended = collections.Counter(s.flow_in for s in self.slices if s.flow_in is not None)
        check(all(count == 1 for count in begun.values()), "a flow begins twice")
        check(all(count == 1 for count in ended.values()), "a flow ends twice")
        check(begun.keys() == ended.keys(), "a flow has one end only")
        return len(begun)

    def check_nesting(self):
        """On one track two slices lie apart, or one inside the other."""
        by_track = collections.defaultdict(list)
        for s in self.slices:
            check(s.end >= s.start, f"{s} ends before it begins")
            by_track[s.track].append((s.start, -s.end))
        for track, slices in by_track.items():
            open_ends = []
            for start, minus_end in sorted(slices):
                while open_ends and open_ends[-1] <= start:
                    open_ends.pop()
                check(not open_ends or -minus_end <= open_ends[-1], f"slices cross on track {self.tracks[track].path} at {start}")
                open_ends.append(-minus_end)


def protoc():
    if shutil.which("protoc") is None:
        raise Skipped("needs protoc (protobuf-compiler)")


def unquote(text):
    """A string as protoc prints it: bytes outside ASCII in octal. They must be valid UTF-8."""
    if "\\" not in text:
        return text
    return codecs.escape_decode(text.encode("ascii"))[0].decode("utf-8")


def messages(lines):
    """The text format, as nested dictionaries: every field a list."""
    stack = [collections.defaultdict(list)]
    for line in lines:
        line = line.strip()
        if line.endswith(" {"):
            stack.append(collections.defaultdict(list))
            stack[-2][line[:-2]].append(stack[-1])
        elif line == "}":
            stack.pop()
            if len(stack) == 1:
                (name, (message,)), = stack[0].items()
                stack[0].clear()
                yield name, message
        else:
            name, _, value = line.partition(": ")
            check(not name.isdigit(), f"field {name} is not in {PROTO}")
            stack[-1][name].append(unquote(value[1:-1]) if value.startswith('"') else value)


def read_perfetto(path):
    protoc()
    trace = Trace()
    trace.clocks, trace.clock_id = {}, None
    tables = collections.defaultdict(dict)  # interned strings
    descriptors, open_slices = {}, collections.defaultdict(list)
    events = []
    with open(path, "rb") as raw:
        decoder = subprocess.Popen(["protoc", "--decode=kvet.perfetto_subset.Trace", "-I", os.path.dirname(PROTO), PROTO],
                                   stdin=raw, stdout=subprocess.PIPE, text=True, encoding="ascii")
    for order, (_, packet) in enumerate(messages(decoder.stdout)):
        check(packet["trusted_packet_sequence_id"] == ["1"], "a packet is of another sequence")
        check((packet["sequence_flags"] == ["1"]) == (order == 0), "the first packet, and it alone, clears the state")
        for snapshot in packet["clock_snapshot"]:
            trace.clocks = {int(c["clock_id"][0]): int(c["timestamp"][0]) for c in snapshot["clocks"]}
            check(snapshot["primary_trace_clock"] == ["3"], "the trace's clock is not MONOTONIC")
        for defaults in packet["trace_packet_defaults"]:
            trace.clock_id = int(defaults["timestamp_clock_id"][0])
        for data in packet["interned_data"]:
            for table, entries in data.items():
                for entry in entries:
                    iid = int(entry["iid"][0])
                    check(iid > 0 and iid not in tables[table], f"{table} {iid} is told twice")
                    tables[table][iid] = entry["str"][0]
        for descriptor in packet["track_descriptor"]:
            uuid = int(descriptor["uuid"][0])
            check(uuid > 0 and uuid not in descriptors, f"track {uuid} is told twice")
            parent = [int(p) for p in descriptor["parent_uuid"]]
            check(all(p in descriptors for p in parent), f"the parent of track {uuid} comes later")
            descriptors[uuid] = descriptor
            above = trace.tracks[parent[0]].path if parent else ()
            counter, = descriptor["counter"] or [None]
            thread, = descriptor["thread"] or [{"tid": [None]}]
            process, = descriptor["process"] or [{"pid": [None]}]
            trace.tracks[uuid] = Track(above + (descriptor["name"][0],), counter["unit_name"][0] if counter else None,
                                       process["pid"][0], thread["tid"][0])
        for event in packet["track_event"]:
            track = int(event["track_uuid"][0])
            check(track in descriptors, f"an event lies on track {track}, which is not there")
            time, kind = int(packet["timestamp"][0]), event["type"][0]
            if kind == "4":
                trace.values.append(Value(track, time, float(event["double_counter_value"][0])))
                continue
            check(kind in "12", f"an event is of type {kind}")
            arguments = {}
            for annotation in event["debug_annotations"]:
                (field, (value,)), = ((k, v) for k, v in annotation.items() if k != "name_iid")
                name = tables["debug_annotation_names"][int(annotation["name_iid"][0])]
                arguments[name] = (tables["debug_annotation_string_values"][int(value)] if field == "string_value_iid"
                                   else float(value) if field == "double_value" else int(value))
            name = tables["event_names"][int(event["name_iid"][0])] if event["name_iid"] else None
            category = tables["event_categories"][int(event["category_iids"][0])] if event["category_iids"] else None
            flows = [[int(f, 0) for f in event[k]] for k in ("flow_ids", "terminating_flow_ids")]
            events.append((time, order, kind, track, name, category, arguments, flows))
    check(decoder.wait() == 0, "protoc does not understand the trace")
    # As Perfetto does it: by time, then by place in the file; an end closes what was opened last on its track.
    for time, _, kind, track, name, category, arguments, flows in sorted(events, key=lambda e: e[:2]):
        if kind == "1":
            open_slices[track].append((time, name, category, arguments, flows))
        else:
            check(open_slices[track], f"an end without a begin on track {trace.tracks[track].path}")
            start, name, category, arguments, (out, into) = open_slices[track].pop()
            check(len(into) <= 1, "two flows end in one slice")
            trace.slices.append(Slice(track, start, time, name, category, arguments, out, into[0] if into else None))
    check(not any(open_slices.values()), "a slice has no end")
    return trace


def nanoseconds(text):
    """Microseconds with exactly three decimals, as they stand in the file."""
    whole, _, fraction = text.partition(".")
    check(len(fraction) == 3, f"{text} has not three decimals")
    return int(whole) * 1000 + int(fraction)


def read_chrome(path):
    trace = Trace()
    with open(path, encoding="utf-8") as file:
        document = json.load(file, parse_float=str)
    trace.start_ns = int(document["otherData"]["start_ns"])
    begun, ended, processes = {}, {}, {}
    by_place = {}  # track and start of a slice -> its flows
    opened = {}
    for event in document["traceEvents"]:
        phase, track = event["ph"], event["tid"]
        if phase == "M":
            if event["name"] == "process_name":
                processes[event["pid"]] = event["args"]["name"]
                trace.tracks[track] = Track((event["args"]["name"],), None, None, None)
            elif event["name"] == "thread_name":
                trace.tracks[track] = Track((processes[event["pid"]], event["args"]["name"]), None, None, None)
            continue
        time = trace.start_ns + nanoseconds(event["ts"])
        check(track in trace.tracks, f"an event lies on track {track}, which has no name")
        if phase == "X":
            trace.slices.append(Slice(track, time, time + nanoseconds(event["dur"]), event["name"], event["cat"],
                                      event.get("args", {}), [], None))
            by_place[(track, time)] = len(trace.slices) - 1
        elif phase == "B":
            check(track not in opened, "a slice begins inside another")
            opened[track] = (time, event)
        elif phase == "E":
            start, begin = opened.pop(track)
            trace.slices.append(Slice(track, start, time, begin["name"], begin["cat"], begin.get("args", {}), [], None))
        elif phase == "C":
            (unit, value), = event["args"].items()
            check(event["name"] == trace.tracks[track].path[-1], "a counter is not called as its track")
            trace.values.append(Value(track, time, float(value)))
        elif phase == "s":
            begun[event["id"]] = (track, time)
        else:
            check(phase == "f" and event["bp"] == "e", f"an event is of phase {phase}")
            ended[event["id"]] = (track, time)
    check(not opened, "a slice has no end")
    for flow, place in begun.items():
        trace.slices[by_place[place]].flows_out.append(flow)
    for flow, place in ended.items():
        index = by_place[place]
        trace.slices[index] = trace.slices[index]._replace(flow_in=flow)
    return trace
