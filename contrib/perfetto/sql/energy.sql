-- SPDX-License-Identifier: GPL-2.0-only
--
-- Energy of idle periods.

INCLUDE PERFETTO MODULE idlewise.periods;

-- Of each governor's replay, on each CPU: what `idlewise replay` prints. Where the platform has no watts, `energy_mj` is NULL and
-- `energy_relative` counts: 1 is a second in the shallowest state.
CREATE PERFETTO VIEW idlewise_energy AS
SELECT
  governor,
  cpu,
  COUNT(*) AS periods,
  SUM(energy_fj) / 1e12 AS energy_mj,
  SUM(energy_relative) / 1e12 AS energy_relative,
  AVG(CASE WHEN woken_by NOT IN ('tick', 'poll-limit') THEN latency_ns END) AS latency_mean_ns
FROM idlewise_governed
GROUP BY governor, cpu;

-- Of any periods (columns cpu, state, dur), in mJ, for the powers in `states` (cpu, state, power_mw, transition_uj).
CREATE PERFETTO MACRO idlewise_energy_of(periods TableOrSubquery, states TableOrSubquery)
RETURNS TableOrSubquery AS (
  SELECT
    p.cpu,
    COUNT(*) AS periods,
    SUM(p.dur * s.power_mw / 1e9 + s.transition_uj / 1e3) AS energy_mj
  FROM $periods AS p
  JOIN $states AS s ON s.cpu = p.cpu AND s.state = p.state
  GROUP BY p.cpu
);
