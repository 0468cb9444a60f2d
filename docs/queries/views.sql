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

CREATE TEMP VIEW processes AS SELECT
  t.id,
  t.pid,
  t.parent_pid,
  t.namespace_pid,
  (SELECT value FROM string WHERE id = t.name_id) AS name,
  (SELECT value FROM string WHERE id = t.command_line_id) AS command_line,
  t.start_ns,
  t.end_ns,
  t.exit_code,
  t.inject_status
FROM process t;

CREATE TEMP VIEW devices AS SELECT
  t.id,
  lower(hex(t.uuid)) AS uuid,
  (SELECT value FROM string WHERE id = t.name_id) AS name,
  t.compute_major,
  t.compute_minor,
  t.multiprocessors,
  t.max_warps_per_multiprocessor,
  t.max_blocks_per_multiprocessor,
  t.max_registers_per_multiprocessor,
  t.max_shared_bytes_per_multiprocessor,
  t.max_shared_bytes_per_block,
  t.memory_bytes,
  t.memory_bandwidth_bytes_per_s,
  t.l2_bytes,
  (SELECT value FROM string WHERE id = t.driver_version_id) AS driver_version,
  t.power_limit_milliwatts,
  t.mig
FROM device t;

CREATE TEMP VIEW contexts AS SELECT
  t.rowid AS id,
  t.process_id,
  t.device_id,
  t.context_id,
  (SELECT name FROM enumerator WHERE enumeration = 'context_sharing' AND value = t.sharing) AS sharing,
  t.green,
  t.parent_context_id,
  t.multiprocessors,
  t.mps_thread_percent
FROM context t;

CREATE TEMP VIEW kernel_shapes AS SELECT
  t.id,
  (SELECT value FROM string WHERE id = t.name_id) AS name,
  t.grid_x,
  t.grid_y,
  t.grid_z,
  t.block_x,
  t.block_y,
  t.block_z,
  t.cluster_x,
  t.cluster_y,
  t.cluster_z,
  t.registers_per_thread,
  t.static_shared_bytes,
  t.dynamic_shared_bytes,
  t.shared_executed_bytes,
  t.local_bytes_per_thread,
  t.max_active_clusters,
  t.code_hash
FROM kernel_shape t;

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

CREATE TEMP VIEW communicators AS SELECT
  t.rowid AS id,
  t.process_id,
  t.communicator,
  t.parent,
  t.rank,
  t.ranks,
  t.color,
  (SELECT value FROM string WHERE id = t.unique_id_id) AS unique_id,
  t.created_ns
FROM communicator t;

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

CREATE TEMP VIEW device_readings AS SELECT
  t.rowid AS id,
  t.device_id,
  t.time_ns,
  t.power_milliwatts,
  t.sm_clock_mhz,
  t.memory_clock_mhz,
  t.temperature_celsius,
  t.throttle_reasons,
  t.gpm_sm_occupancy_percent,
  t.gpm_dram_percent,
  t.gpm_sm_active_percent
FROM device_reading t;

CREATE TEMP VIEW losses AS SELECT
  t.rowid AS id,
  (SELECT name FROM enumerator WHERE enumeration = 'source' AND value = t.source) AS source,
  (SELECT name FROM enumerator WHERE enumeration = 'loss_kind' AND value = t.kind) AS kind,
  t.process_id,
  t.lost_count,
  t.first_ns,
  t.last_ns
FROM loss t;
