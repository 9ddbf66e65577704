-- SPDX-License-Identifier: GPL-2.0-only
--
-- Where two governors of one trace choose differently.

INCLUDE PERFETTO MODULE idlewise.periods;

-- The first choice of each governor before each wake event. The tick is none: a CPU that it wakes goes on waiting for the same event. So
-- does one whose poll limit ends, and one whose entry was refused.
CREATE PERFETTO TABLE idlewise_first_choice AS
WITH awaited AS (
  SELECT
    *,
    MIN(CASE WHEN woken_by NOT IN ('tick', 'poll-limit') AND state IS NOT NULL THEN wake_ts END) OVER (
      PARTITION BY governor, cpu ORDER BY ts ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
    ) AS event_ts
  FROM idlewise_governed
), numbered AS (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY governor, cpu, event_ts ORDER BY ts) AS place FROM awaited
)
SELECT slice_id, governor, cpu, ts, dur, state, chosen, tick, event_ts
FROM numbered
WHERE place = 1 AND event_ts IS NOT NULL;

-- Wake events before which both governors were asked, and whose first choice is another state, or the same and another choice about the
-- tick: where `idlewise compare` puts them.
CREATE PERFETTO MACRO idlewise_divergence(a Expr, b Expr)
RETURNS TableOrSubquery AS (
  SELECT
    x.cpu,
    x.ts,
    x.event_ts,
    MAX(x.dur, y.dur) AS dur,
    x.slice_id AS a_slice_id,
    y.slice_id AS b_slice_id,
    x.chosen AS a_state,
    y.chosen AS b_state,
    x.tick AS a_tick,
    y.tick AS b_tick,
    CASE WHEN x.chosen != y.chosen THEN 'another state' ELSE 'only one keeps the tick' END AS kind
  FROM idlewise_first_choice AS x
  JOIN idlewise_first_choice AS y ON y.cpu = x.cpu AND y.event_ts = x.event_ts
  WHERE
    x.governor = $a
    AND y.governor = $b
    AND (x.chosen != y.chosen OR (x.tick = 'kept') != (y.tick = 'kept'))
);

-- How often each two governors differ.
CREATE PERFETTO VIEW idlewise_divergences AS
SELECT
  x.governor AS a,
  y.governor AS b,
  COUNT(*) AS events,
  SUM(x.chosen != y.chosen) AS another_state,
  SUM(x.chosen = y.chosen AND (x.tick = 'kept') != (y.tick = 'kept')) AS only_one_keeps_the_tick
FROM idlewise_first_choice AS x
JOIN idlewise_first_choice AS y ON y.cpu = x.cpu AND y.event_ts = x.event_ts AND x.governor < y.governor
GROUP BY x.governor, y.governor;
