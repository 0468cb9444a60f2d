-- What was not recorded? Counts of one source and kind are added up; no row means that nothing was lost.
SELECT source, kind, process_id, sum(lost_count) AS lost, min(first_ns) AS first_ns, max(last_ns) AS last_ns
FROM losses GROUP BY source, kind, process_id ORDER BY sum(lost_count) DESC, source, kind, process_id;
