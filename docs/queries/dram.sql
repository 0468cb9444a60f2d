-- How many bytes per second did the device move to and from its memory while the kernel ran (whoever moved them)? A sample
-- counts by the part of it in which the kernel ran. :kernel is a LIKE pattern for the mangled name.
WITH event AS (
  SELECT device_id, start_ns AS at_ns, 1 AS own, 0 AS sampled, 0.0 AS read_rate, 0.0 AS write_rate FROM executions WHERE name LIKE :kernel
  UNION ALL
  SELECT device_id, end_ns, -1, 0, 0.0, 0.0 FROM executions WHERE name LIKE :kernel
  UNION ALL
  SELECT device_id, start_ns, 0, 1, dram_read_bytes / duration_ns, dram_write_bytes / duration_ns FROM samples
  WHERE duration_ns > 0 AND dram_read_bytes IS NOT NULL AND dram_write_bytes IS NOT NULL
  UNION ALL
  SELECT device_id, end_ns, 0, -1, -dram_read_bytes / duration_ns, -dram_write_bytes / duration_ns FROM samples
  WHERE duration_ns > 0 AND dram_read_bytes IS NOT NULL AND dram_write_bytes IS NOT NULL),
segment AS (
  SELECT device_id, lead(at_ns) OVER by_time - at_ns AS length_ns, sum(own) OVER by_time AS own, sum(sampled) OVER by_time AS sampled,
    sum(read_rate) OVER by_time AS read_rate, sum(write_rate) OVER by_time AS write_rate
  FROM event WINDOW by_time AS (PARTITION BY device_id ORDER BY at_ns ROWS UNBOUNDED PRECEDING))
SELECT device_id, sum(length_ns) AS sampled_ns,
  sum(read_rate * length_ns) / sum(length_ns) * 1e9 AS read_bytes_per_s,
  sum(write_rate * length_ns) / sum(length_ns) * 1e9 AS write_bytes_per_s
FROM segment WHERE own > 0 AND sampled > 0 AND length_ns > 0 GROUP BY device_id ORDER BY device_id;
