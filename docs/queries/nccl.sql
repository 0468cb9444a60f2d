-- How long did each rank wait in each collective for the last one, and who was last? Collectives are counted per communicator and
-- rank, in the order of their calls; a call's kernel is the one launched inside it (for groups, launch lies in the call of
-- ncclGroupEnd instead, and this query does not see it).
WITH numbered AS (
  SELECT c.process_id, c.thread_id, c.kind, c.start_ns, c.end_ns, m.unique_id_id, m.rank,
    row_number() OVER (PARTITION BY m.unique_id_id, c.process_id ORDER BY c.start_ns) AS number
  FROM collective_calls c JOIN communicator m ON m.process_id = c.process_id AND m.communicator = c.communicator
  WHERE c.kind NOT IN ('group_start', 'group_end')),
on_thread AS (
  SELECT process_id, thread_id, start_ns, end_ns, start_ns AS call_start_ns, NULL AS correlation_id FROM numbered
  UNION ALL
  SELECT process_id, thread_id, start_ns, end_ns, NULL, correlation_id FROM api_calls WHERE kind LIKE 'launch%' AND correlation_id <> 0),
inside AS (
  SELECT *, max(call_start_ns) OVER (PARTITION BY process_id, thread_id ORDER BY start_ns, call_start_ns IS NULL ROWS UNBOUNDED PRECEDING) AS in_call_ns
  FROM on_thread),
collective AS (
  SELECT n.unique_id_id, n.number, n.kind, n.rank, e.start_ns, e.end_ns,
    max(e.start_ns) OVER (PARTITION BY n.unique_id_id, n.number) AS latest_ns
  FROM numbered n
    JOIN inside i ON i.process_id = n.process_id AND i.thread_id = n.thread_id AND i.in_call_ns = n.start_ns AND i.correlation_id IS NOT NULL
      AND i.start_ns <= n.end_ns
    JOIN executions e ON e.process_id = i.process_id AND e.correlation_id = i.correlation_id)
SELECT unique_id_id AS communicator, number, kind, rank, max(0, min(end_ns, latest_ns) - start_ns) AS arrival_wait_ns,
  start_ns = latest_ns AS straggler
FROM collective ORDER BY unique_id_id, number, rank;
