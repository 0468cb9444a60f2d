-- How long did each stream wait for its next launch? From the end of everything earlier in the stream to the return of the call
-- that launched the next kernel, where the call returned later.
WITH launched AS (
  SELECT e.device_id, e.process_id, e.context_id, e.stream_id, e.start_ns, e.end_ns, a.end_ns AS returned_ns
  FROM executions e JOIN api_calls a ON a.process_id = e.process_id AND a.correlation_id = e.correlation_id AND a.kind LIKE 'launch%'
  WHERE e.correlation_id <> 0),
ready AS (
  SELECT *, max(end_ns) OVER (PARTITION BY device_id, process_id, context_id, stream_id ORDER BY start_ns, end_ns
                              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ready_ns
  FROM launched)
SELECT device_id, process_id, stream_id, count(*) AS launches, sum(returned_ns > ready_ns) AS late,
  coalesce(sum(returned_ns - ready_ns) FILTER (WHERE returned_ns > ready_ns), 0) AS starved_ns
FROM ready WHERE ready_ns IS NOT NULL
GROUP BY device_id, process_id, context_id, stream_id ORDER BY device_id, process_id, context_id, stream_id;
