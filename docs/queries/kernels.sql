-- What ran, how often and for how long? One row per kernel and device, the longest-running first. :kernel is a LIKE pattern for
-- the mangled name; '%' is all of them.
SELECT device_id, name, count(*) AS executions, sum(duration_ns) AS time_ns, min(duration_ns) AS shortest_ns,
  sum(duration_ns) / count(*) AS mean_ns, max(duration_ns) AS longest_ns, count(DISTINCT stream_id) AS streams
FROM executions WHERE name LIKE :kernel
GROUP BY device_id, name ORDER BY sum(duration_ns) DESC, device_id, name;
