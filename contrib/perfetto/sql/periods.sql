-- SPDX-License-Identifier: GPL-2.0-only
--
-- Idle periods: those that the kernel recorded, and those of the governors that `idlewise convert --governor` drew.

-- What the kernel did, from the cpu_idle events of any trace: CPU, begin (ns), length (ns), state. A period that is open at the end of the
-- trace is left out.
CREATE PERFETTO TABLE idlewise_recorded AS
WITH step AS (
  SELECT
    t.cpu,
    c.ts,
    CAST(c.value AS INT) AS state,
    LEAD(c.ts) OVER (PARTITION BY c.track_id ORDER BY c.ts) AS end_ts
  FROM counter AS c
  JOIN cpu_counter_track AS t ON c.track_id = t.id
  WHERE t.name = 'cpuidle'
)
SELECT cpu, ts, end_ts - ts AS dur, state
FROM step
WHERE state != 4294967295 AND end_ts IS NOT NULL;

-- What governors did in a replay: a row for each slice on a track "GOVERNOR / CPU N". An entry that was refused has no state.
--   state, chosen      the state that was entered, the state that the governor chose
--   wake_ts            when the wake event came, ns
--   residency_ns       how long the kernel would have measured the period
--   latency_ns         from the wake event to the first instruction
--   verdict            'right', 'too deep', 'too shallow', 'refused by the driver'
--   energy_fj          of the period and of being awake for the tick alone, fJ; NULL where the platform's energy is relative
--   energy_relative    the same in 10^-12 of the relative unit
CREATE PERFETTO TABLE idlewise_governed AS
SELECT
  s.id AS slice_id,
  p.name AS governor,
  CAST(SUBSTR(t.name, LENGTH(p.name) + LENGTH(' / CPU ') + 1) AS INT) AS cpu,
  s.ts,
  s.dur,
  CASE WHEN s.name != 'refused' THEN CAST(s.name AS INT) END AS state,
  CAST(EXTRACT_ARG(s.arg_set_id, 'debug.chosen') AS INT) AS chosen,
  EXTRACT_ARG(s.arg_set_id, 'debug.tick') AS tick,
  EXTRACT_ARG(s.arg_set_id, 'debug.woken_by') AS woken_by,
  EXTRACT_ARG(s.arg_set_id, 'debug.verdict') AS verdict,
  s.ts + EXTRACT_ARG(s.arg_set_id, 'debug.wake_ns') AS wake_ts,
  EXTRACT_ARG(s.arg_set_id, 'debug.residency_ns') AS residency_ns,
  EXTRACT_ARG(s.arg_set_id, 'debug.latency_ns') AS latency_ns,
  EXTRACT_ARG(s.arg_set_id, 'debug.energy_fj') AS energy_fj,
  EXTRACT_ARG(s.arg_set_id, 'debug.energy_relative') AS energy_relative
FROM slice AS s
JOIN track AS t ON s.track_id = t.id
JOIN track AS p ON t.parent_id = p.id
WHERE
  t.name GLOB '* / CPU [0-9]*'
  AND s.category GLOB 'tick *'
  AND EXTRACT_ARG(s.arg_set_id, 'debug.verdict') IS NOT NULL;

-- Both in one: `source` is 'recorded' or the governor.
CREATE PERFETTO VIEW idlewise_period AS
SELECT 'recorded' AS source, cpu, ts, dur, state FROM idlewise_recorded
UNION ALL
SELECT governor AS source, cpu, ts, dur, state FROM idlewise_governed;

-- Periods and time by state.
CREATE PERFETTO VIEW idlewise_time_in_state AS
SELECT source, cpu, state, COUNT(*) AS periods, SUM(dur) AS dur
FROM idlewise_period
GROUP BY source, cpu, state;
