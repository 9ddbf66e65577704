-- SPDX-License-Identifier: GPL-2.0-only
--
-- Periods that were too deep or too shallow.

INCLUDE PERFETTO MODULE idlewise.periods;

-- The kernel's own verdicts, from cpu_idle_miss events (Linux 6.2): `below` is 1 for too shallow, 0 for too deep.
CREATE PERFETTO VIEW idlewise_recorded_miss AS
SELECT
  EXTRACT_ARG(arg_set_id, 'cpu_id') AS cpu,
  ts,
  EXTRACT_ARG(arg_set_id, 'state') AS state,
  EXTRACT_ARG(arg_set_id, 'below') AS below
FROM ftrace_event
WHERE name = 'cpu_idle_miss';

-- How often, for each source and CPU, in all and in % of the periods. `source` is 'recorded' or a governor. A trace without cpu_idle_miss
-- events does not tell what was wrong of what it recorded: NULL.
CREATE PERFETTO VIEW idlewise_misses AS
WITH miss AS (
  SELECT cpu, SUM(below = 0) AS too_deep, SUM(below = 1) AS too_shallow FROM idlewise_recorded_miss GROUP BY cpu
), known AS (
  SELECT COUNT(*) > 0 AS is_known FROM idlewise_recorded_miss
), counted AS (
  SELECT
    'recorded' AS source,
    r.cpu,
    COUNT(*) AS periods,
    CASE WHEN known.is_known THEN IFNULL(MAX(m.too_deep), 0) END AS too_deep,
    CASE WHEN known.is_known THEN IFNULL(MAX(m.too_shallow), 0) END AS too_shallow
  FROM idlewise_recorded AS r
  JOIN known
  LEFT JOIN miss AS m ON m.cpu = r.cpu
  GROUP BY r.cpu
  UNION ALL
  SELECT
    governor AS source,
    cpu,
    COUNT(state) AS periods,
    SUM(verdict = 'too deep') AS too_deep,
    SUM(verdict = 'too shallow') AS too_shallow
  FROM idlewise_governed
  GROUP BY governor, cpu
)
SELECT
  source,
  cpu,
  periods,
  too_deep,
  too_shallow,
  100.0 * too_deep / periods AS too_deep_pct,
  100.0 * too_shallow / periods AS too_shallow_pct
FROM counted;

-- The kernel's rule for periods whose states are known, for traces without cpu_idle_miss events and for other idle states. `periods` has
-- columns cpu, ts, state, residency_ns; `states` has cpu, state, target_residency_ns, exit_latency_ns, all of one CPU enabled. All rows of
-- `periods` with the verdict.
CREATE PERFETTO MACRO idlewise_judged(periods TableOrSubquery, states TableOrSubquery)
RETURNS TableOrSubquery AS (
  SELECT
    p.cpu,
    p.ts,
    p.state,
    p.residency_ns,
    CASE
      WHEN p.residency_ns < s.target_residency_ns AND shallower.state IS NOT NULL THEN 'too deep'
      WHEN p.residency_ns >= s.target_residency_ns
        AND p.residency_ns - s.exit_latency_ns >= deeper.target_residency_ns THEN 'too shallow'
      ELSE 'right'
    END AS verdict
  FROM $periods AS p
  JOIN $states AS s ON s.cpu = p.cpu AND s.state = p.state
  LEFT JOIN $states AS shallower ON shallower.cpu = p.cpu AND shallower.state = p.state - 1
  LEFT JOIN $states AS deeper ON deeper.cpu = p.cpu AND deeper.state = p.state + 1
);
