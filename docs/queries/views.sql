-- Made by the code (src/store/views.cpp): see docs/capture-format.md.
CREATE TEMP VIEW clock_piece AS
WITH piece AS (
  SELECT rowid AS ordinal, source, device_id, from_ns, offset_ns, drift_ns_per_s FROM clock_mapping
  UNION ALL
  SELECT m.rowid, m.source, d.id, m.from_ns, m.offset_ns, m.drift_ns_per_s FROM clock_mapping m JOIN device d
  WHERE m.device_id IS NULL
    AND NOT EXISTS (SELECT 1 FROM clock_mapping own WHERE own.source = m.source AND own.device_id = d.id))
SELECT source, device_id, from_ns AS zero_ns, offset_ns, drift_ns_per_s,
  CASE WHEN row_number() OVER by_time = 1 THEN -9223372036854775807 ELSE from_ns END AS begin_ns,
  lead(from_ns, 1, 9223372036854775807) OVER by_time AS end_ns
FROM piece WINDOW by_time AS (PARTITION BY source, device_id ORDER BY from_ns, ordinal);

CREATE TEMP VIEW api_calls AS SELECT
  t.rowid AS id,
  t.process_id,
  t.thread_id,
  (SELECT name FROM enumerator WHERE enumeration = 'api_kind' AND value = t.kind) AS kind,
  (SELECT name FROM enumerator WHERE enumeration = 'source' AND value = t.source) AS source,
  t.correlation_id,
  t.start_ns + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * (t.start_ns - c.zero_ns) / 1e9) AS INTEGER), 0) AS start_ns,
  (t.start_ns + t.duration_ns) + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * ((t.start_ns + t.duration_ns) - c.zero_ns) / 1e9) AS INTEGER), 0) AS end_ns,
  t.duration_ns,
  t.result,
  t.stream_handle,
  t.captured
FROM api_call t
  LEFT JOIN clock_piece c ON c.source = CASE t.source WHEN 1 THEN 0 WHEN 9 THEN 3 ELSE CASE WHEN EXISTS (SELECT 1 FROM clock_mapping WHERE source = 3) THEN 3 ELSE 1 END END
    AND c.device_id IS NULL AND t.start_ns >= c.begin_ns AND t.start_ns < c.end_ns;

CREATE TEMP VIEW executions AS SELECT
  t.rowid AS id,
  t.process_id,
  t.device_id,
  t.shape_id,
  (SELECT value FROM string WHERE id = s.name_id) AS name,
  s.grid_x * s.grid_y * s.grid_z AS blocks,
  t.context_id,
  t.stream_id,
  t.correlation_id,
  t.graph_id,
  t.graph_node_id,
  t.start_ns + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * (t.start_ns - c.zero_ns) / 1e9) AS INTEGER), 0) AS start_ns,
  (t.start_ns + t.duration_ns) + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * ((t.start_ns + t.duration_ns) - c.zero_ns) / 1e9) AS INTEGER), 0) AS end_ns,
  t.duration_ns
FROM execution t
  JOIN kernel_shape s ON s.id = t.shape_id
  LEFT JOIN clock_piece c ON c.source = CASE WHEN EXISTS (SELECT 1 FROM clock_mapping WHERE source = 3) THEN 3 ELSE 1 END
    AND c.device_id IS NULL AND t.start_ns >= c.begin_ns AND t.start_ns < c.end_ns;

CREATE TEMP VIEW transfers AS SELECT
  t.rowid AS id,
  t.process_id,
  t.device_id,
  (SELECT name FROM enumerator WHERE enumeration = 'transfer_kind' AND value = t.kind) AS kind,
  t.context_id,
  t.stream_id,
  t.correlation_id,
  t.graph_id,
  t.graph_node_id,
  t.size_bytes,
  t.start_ns + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * (t.start_ns - c.zero_ns) / 1e9) AS INTEGER), 0) AS start_ns,
  (t.start_ns + t.duration_ns) + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * ((t.start_ns + t.duration_ns) - c.zero_ns) / 1e9) AS INTEGER), 0) AS end_ns,
  t.duration_ns
FROM transfer t
  LEFT JOIN clock_piece c ON c.source = CASE WHEN EXISTS (SELECT 1 FROM clock_mapping WHERE source = 3) THEN 3 ELSE 1 END
    AND c.device_id IS NULL AND t.start_ns >= c.begin_ns AND t.start_ns < c.end_ns;

CREATE TEMP VIEW nvtx_ranges AS SELECT
  t.rowid AS id,
  t.process_id,
  t.thread_id,
  (SELECT value FROM string WHERE id = t.name_id) AS name,
  (SELECT value FROM string WHERE id = t.domain_id) AS domain,
  t.start_ns + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * (t.start_ns - c.zero_ns) / 1e9) AS INTEGER), 0) AS start_ns,
  (t.start_ns + t.duration_ns) + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * ((t.start_ns + t.duration_ns) - c.zero_ns) / 1e9) AS INTEGER), 0) AS end_ns,
  t.duration_ns
FROM nvtx_range t
  LEFT JOIN clock_piece c ON c.source = CASE WHEN EXISTS (SELECT 1 FROM clock_mapping WHERE source = 3) THEN 3 ELSE 1 END
    AND c.device_id IS NULL AND t.start_ns >= c.begin_ns AND t.start_ns < c.end_ns;

CREATE TEMP VIEW off_cpus AS SELECT
  t.rowid AS id,
  t.process_id,
  t.thread_id,
  (SELECT name FROM enumerator WHERE enumeration = 'off_cpu_reason' AND value = t.reason) AS reason,
  t.system_call,
  t.start_ns + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * (t.start_ns - c.zero_ns) / 1e9) AS INTEGER), 0) AS start_ns,
  (t.start_ns + t.duration_ns) + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * ((t.start_ns + t.duration_ns) - c.zero_ns) / 1e9) AS INTEGER), 0) AS end_ns,
  t.duration_ns,
  t.blocked_ns,
  t.cpu,
  t.taker_thread_id,
  (SELECT value FROM string WHERE id = t.taker_name_id) AS taker_name,
  t.waker_thread_id
FROM off_cpu t
  LEFT JOIN clock_piece c ON c.source = 0
    AND c.device_id IS NULL AND t.start_ns >= c.begin_ns AND t.start_ns < c.end_ns;

CREATE TEMP VIEW collective_calls AS SELECT
  t.rowid AS id,
  t.process_id,
  t.thread_id,
  (SELECT name FROM enumerator WHERE enumeration = 'collective_kind' AND value = t.kind) AS kind,
  t.communicator,
  t.stream_handle,
  t.element_count,
  t.data_type,
  t.peer_or_root,
  t.result,
  t.start_ns + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * (t.start_ns - c.zero_ns) / 1e9) AS INTEGER), 0) AS start_ns,
  (t.start_ns + t.duration_ns) + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * ((t.start_ns + t.duration_ns) - c.zero_ns) / 1e9) AS INTEGER), 0) AS end_ns,
  t.duration_ns
FROM collective_call t
  LEFT JOIN clock_piece c ON c.source = 0
    AND c.device_id IS NULL AND t.start_ns >= c.begin_ns AND t.start_ns < c.end_ns;

CREATE TEMP VIEW samples AS SELECT
  t.rowid AS id,
  t.device_id,
  t.start_ns + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * (t.start_ns - c.zero_ns) / 1e9) AS INTEGER), 0) AS start_ns,
  (t.start_ns + t.duration_ns) + coalesce(c.offset_ns + CAST(round(c.drift_ns_per_s * ((t.start_ns + t.duration_ns) - c.zero_ns) / 1e9) AS INTEGER), 0) AS end_ns,
  t.duration_ns,
  t.cycles_elapsed,
  t.sm_active_cycles,
  t.warp_cycles,
  t.warps_max,
  t.warps_min,
  t.register_cycles,
  t.shared_byte_cycles,
  t.warps_launched,
  t.blocks_completed,
  t.dram_read_bytes,
  t.dram_write_bytes,
  t.instructions,
  t.tensor_cycles,
  t.l2_sectors,
  t.context_switch_cycles
FROM sample t
  LEFT JOIN clock_piece c ON c.source = 2
    AND c.device_id IS t.device_id AND t.start_ns >= c.begin_ns AND t.start_ns < c.end_ns;
