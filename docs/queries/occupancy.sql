-- How long did the kernel run alone, and how long beside a sibling? A sibling is another kernel on another stream of the same
-- context. One row per stream of the kernel. :kernel is a LIKE pattern for the mangled name, such as '%rms_norm%'.
WITH own_stream AS (
  SELECT DISTINCT device_id, process_id, context_id, stream_id FROM executions WHERE name LIKE :kernel),
event AS (
  SELECT device_id, process_id, context_id, stream_id, start_ns AS at_ns, 1 AS own, 0 AS sibling FROM executions WHERE name LIKE :kernel
  UNION ALL
  SELECT device_id, process_id, context_id, stream_id, end_ns, -1, 0 FROM executions WHERE name LIKE :kernel
  UNION ALL
  SELECT device_id, process_id, context_id, o.stream_id, e.start_ns, 0, 1
  FROM executions e JOIN own_stream o USING (device_id, process_id, context_id) WHERE e.stream_id <> o.stream_id AND e.name NOT LIKE :kernel
  UNION ALL
  SELECT device_id, process_id, context_id, o.stream_id, e.end_ns, 0, -1
  FROM executions e JOIN own_stream o USING (device_id, process_id, context_id) WHERE e.stream_id <> o.stream_id AND e.name NOT LIKE :kernel),
segment AS (
  SELECT device_id, process_id, context_id, stream_id,
    lead(at_ns) OVER by_time - at_ns AS length_ns, sum(own) OVER by_time AS own, sum(sibling) OVER by_time AS siblings
  FROM event
  WINDOW by_time AS (PARTITION BY device_id, process_id, context_id, stream_id ORDER BY at_ns ROWS UNBOUNDED PRECEDING))
SELECT device_id, process_id, stream_id,
  coalesce(sum(length_ns) FILTER (WHERE own > 0 AND siblings = 0), 0) AS solo_ns,
  coalesce(sum(length_ns) FILTER (WHERE own > 0 AND siblings > 0), 0) AS corun_ns
FROM segment GROUP BY device_id, process_id, context_id, stream_id ORDER BY device_id, process_id, context_id, stream_id;
