-- Why were the threads that launch not on a CPU, and for how long? blocked_ns is the time until they were woken, waiting_ns
-- the time from there (or from losing the CPU) until they ran again.
SELECT process_id, thread_id, reason, count(*) AS times, sum(blocked_ns) AS blocked_ns, sum(duration_ns - blocked_ns) AS waiting_ns
FROM off_cpus
WHERE (process_id, thread_id) IN (SELECT process_id, thread_id FROM api_calls WHERE kind LIKE 'launch%')
GROUP BY process_id, thread_id, reason ORDER BY process_id, thread_id, sum(duration_ns) DESC, reason;
