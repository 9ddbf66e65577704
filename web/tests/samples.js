// SPDX-License-Identifier: GPL-2.0-only
//
// Pages as tests need them, made of a real report (tests/replay.json: `idlewise replay tests/data/mixed.dat --platform
// pixel6 --format json`) and, where the report has no such table, of numbers drawn by a generator with a fixed seed.
// Plain JavaScript without imports: the browser's tests and those of crates/chart both run it.

(() => {
  function random(seed) {
    let s = seed >>> 0;
    return () => {
      s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
      return s / 4294967296;
    };
  }

  const TEXT = (name, label) => ({ name, label, type: 'text', unit: '', better: null });
  const NUMBER = (name, label, unit = '', better = null) => ({ name, label, type: 'number', unit, better });
  const INTEGER = (name, label, unit = '', better = null) => ({ name, label, type: 'integer', unit, better });

  const TABLES = {
    measures: [
      'The comparison',
      [
        TEXT('recording', 'recording'),
        TEXT('governor', 'governor'),
        TEXT('role', 'role'),
        TEXT('measure', 'measure'),
        TEXT('label', 'label'),
        TEXT('unit', 'unit'),
        TEXT('better', 'better'),
        NUMBER('value', 'value'),
        NUMBER('baseline_value', 'value of the baseline'),
        NUMBER('change', 'change'),
        TEXT('change_unit', 'unit of the change'),
        TEXT('shown', 'shown'),
      ],
    ],
    front: [
      'Energy and latency',
      [
        TEXT('recording', 'recording'),
        TEXT('governor', 'governor'),
        TEXT('role', 'role'),
        NUMBER('energy', 'idle energy', 'mJ', 'less'),
        TEXT('energy_unit', 'unit'),
        NUMBER('latency_mean_ns', 'mean latency', 'ns', 'less'),
        NUMBER('latency_p99_ns', 'latency p99', 'ns', 'less'),
      ],
    ],
    misses: [
      'Too deep and too shallow',
      [
        TEXT('recording', 'recording'),
        TEXT('governor', 'governor'),
        NUMBER('too_deep_pct', 'too deep', '%', 'less'),
        NUMBER('too_shallow_pct', 'too shallow', '%', 'less'),
      ],
    ],
    residency: [
      'Residency',
      [
        TEXT('recording', 'recording'),
        TEXT('governor', 'governor'),
        TEXT('cluster', 'cluster'),
        INTEGER('cpu', 'CPU'),
        TEXT('state', 'state'),
        INTEGER('state_index', 'index'),
        NUMBER('share_pct', 'share of idle time', '%'),
      ],
    ],
    periods: [
      'Idle periods',
      [
        TEXT('recording', 'recording'),
        TEXT('cluster', 'cluster'),
        INTEGER('from_ns', 'from', 'ns'),
        INTEGER('to_ns', 'to', 'ns'),
        INTEGER('count', 'idle periods'),
      ],
    ],
    targets: [
      'Target residencies',
      [
        TEXT('cluster', 'cluster'),
        TEXT('state', 'state'),
        INTEGER('state_index', 'index'),
        INTEGER('target_residency_ns', 'target residency', 'ns'),
      ],
    ],
    latency: [
      'Wakeup latency',
      [
        TEXT('recording', 'recording'),
        TEXT('governor', 'governor'),
        INTEGER('latency_ns', 'latency', 'ns'),
        NUMBER('share', 'share of wakeups'),
      ],
    ],
    divergence: [
      'Divergence',
      [
        TEXT('recording', 'recording'),
        TEXT('governor', 'governor'),
        TEXT('against', 'against'),
        TEXT('cause', 'cause'),
        INTEGER('count', 'decisions'),
        NUMBER('energy_change', 'change of energy', 'mJ', 'less'),
        NUMBER('latency_change_ns', 'change of latency', 'ns', 'less'),
      ],
    ],
    timeline: [
      'Timeline',
      [
        TEXT('recording', 'recording'),
        INTEGER('cpu', 'CPU'),
        TEXT('lane', 'lane'),
        TEXT('governor', 'governor'),
        INTEGER('start_ns', 'from', 'ns'),
        INTEGER('end_ns', 'to', 'ns'),
        TEXT('state', 'state'),
        INTEGER('state_index', 'index'),
        TEXT('verdict', 'verdict'),
        TEXT('wake', 'woken by'),
        TEXT('why', 'why'),
      ],
    ],
    response: [
      'Responses',
      [
        TEXT('subject', 'subject'),
        TEXT('kind', 'kind'),
        INTEGER('time_ns', 'time', 'ns'),
        NUMBER('value', 'value'),
        TEXT('unit', 'unit'),
      ],
    ],
    swept_settings: [
      'Settings',
      [
        TEXT('setting', 'setting'),
        TEXT('governor', 'governor'),
        TEXT('role', 'role'),
        TEXT('on_front', 'on the front'),
        TEXT('measure', 'measure'),
        TEXT('label', 'label'),
        TEXT('unit', 'unit'),
        NUMBER('change', 'change', '', 'less'),
        INTEGER('place', 'of the front'),
      ],
    ],
    setting_values: [
      'Values of parameters',
      [
        TEXT('setting', 'setting'),
        TEXT('governor', 'governor'),
        TEXT('parameter', 'parameter'),
        TEXT('value', 'value'),
        NUMBER('order', 'place'),
      ],
    ],
    points: [
      'Points',
      [
        TEXT('series', 'series'),
        TEXT('group', 'group'),
        NUMBER('x', 'run'),
        NUMBER('y', 'value'),
        TEXT('unit', 'unit'),
      ],
    ],
  };
  const table = (name, rows) => ({ name, title: TABLES[name][0], columns: TABLES[name][1], rows });

  const PIXEL = [
    {
      name: 'LITTLE',
      cpus: [0, 1, 2, 3],
      states: [
        ['WFI', 1000],
        ['c2', 2000000],
      ],
    },
  ];
  const SERVER = (cpus) => [
    {
      name: 'package 0',
      cpus: [...Array(cpus / 2).keys()],
      states: [
        ['POLL', 0],
        ['C1', 2000],
        ['C1E', 20000],
        ['C6', 600000],
      ],
    },
    {
      name: 'package 1',
      cpus: [...Array(cpus / 2).keys()].map((c) => c + cpus / 2),
      states: [
        ['POLL', 0],
        ['C1', 2000],
        ['C1E', 20000],
        ['C6', 600000],
      ],
    },
  ];

  // Measures of a governor as idlewise scores them; latency may be unknown.
  function scored(recording, governor, role, s, base) {
    const rows = [];
    const put = (measure, label, unit, better, of, relative) => {
      const value = of(s);
      const before = of(base);
      const known = value !== null && before !== null;
      const change =
        !known || role === 'baseline'
          ? null
          : relative
            ? before === 0
              ? null
              : (value / before - 1) * 100
            : value - before;
      rows.push([
        recording,
        governor,
        role,
        measure,
        label,
        unit,
        better,
        value,
        before,
        change,
        relative ? '%' : 'pp',
        'change',
      ]);
    };
    put('energy', 'idle energy', s.energy_unit, 'less', (x) => x.energy, true);
    put('latency_mean', 'latency mean', 'ns', 'less', (x) => x.latency && x.latency.mean_ns, true);
    put('latency_p99', 'latency p99', 'ns', 'less', (x) => x.latency && x.latency.p99_ns, true);
    put('too_deep', 'too deep', '%', 'less', (x) => x.too_deep_pct, false);
    put('too_shallow', 'too shallow', '%', 'less', (x) => x.too_shallow_pct, false);
    put('wakeups', 'wakeups', '', 'less', (x) => x.wakeups, true);
    put('ticks', 'tick wakes', '', 'less', (x) => x.ticks, true);
    put('ticks_stopped', 'tick stopped', '', null, (x) => x.ticks_stopped, true);
    put('overtaken', 'during an exit', '', 'less', (x) => x.overtaken, true);
    put('latency_p50', 'latency p50', 'ns', 'less', (x) => x.latency && x.latency.p50_ns, true);
    put('latency_max', 'latency max', 'ns', 'less', (x) => x.latency && x.latency.max_ns, true);
    return rows;
  }

  // A score that might be: energy and latency trade against each other.
  function made(next, depth) {
    const wake = 2000 + depth * 22000 * (0.7 + 0.6 * next());
    const deep = Math.max(0, depth * 7 * (0.5 + next()));
    return {
      energy: 4.6 + (1 - depth) * 2.6 * (0.8 + 0.4 * next()),
      energy_unit: 'mJ',
      latency: {
        mean_ns: wake,
        p50_ns: 1000,
        p99_ns: Math.round(wake * (6 + 6 * next())),
        max_ns: Math.round(wake * 14),
      },
      too_deep_pct: deep,
      too_shallow_pct: Math.max(0.2, (1 - depth) * 8 * (0.5 + next())),
      wakeups: 7600 + Math.floor(900 * next()),
      ticks: Math.floor(800 * next()),
      ticks_stopped: Math.floor(4000 * next()),
      overtaken: Math.floor(400 * depth * next()),
    };
  }

  function tablesOf(seed, recordings, governors, clusters, options) {
    const next = random(seed);
    const out = {
      measures: [],
      front: [],
      misses: [],
      residency: [],
      periods: [],
      targets: [],
      latency: [],
      divergence: [],
      timeline: [],
    };
    const cpus = clusters.flatMap((c) => c.cpus);
    for (const c of clusters)
      c.states.forEach(([state, target], i) => out.targets.push([c.name, state, i, target]));
    for (const recording of recordings) {
      const scores = governors.map((g) =>
        g.score && recording === recordings[0] ? g.score : made(next, g.depth),
      );
      const base = scores[0];
      governors.forEach((g, i) => {
        const s = scores[i];
        out.measures.push(...scored(recording, g.name, g.role, s, base));
        out.front.push([
          recording,
          g.name,
          g.role,
          s.energy,
          s.energy_unit,
          s.latency && s.latency.mean_ns,
          s.latency && s.latency.p99_ns,
        ]);
        out.misses.push([recording, g.name, s.too_deep_pct, s.too_shallow_pct]);
        for (const c of clusters)
          for (const cpu of c.cpus) {
            const shares = c.states.map(
              (_, k) =>
                (0.15 + next()) *
                (k === 0 && c.states.length > 2 ? 0.05 : 1) *
                (k === c.states.length - 1 ? 0.4 + 2 * g.depth : 1),
            );
            const sum = shares.reduce((a, b) => a + b, 0);
            c.states.forEach(([state], k) =>
              out.residency.push([recording, g.name, c.name, cpu, state, k, (100 * shares[k]) / sum]),
            );
          }
        if (s.latency) {
          const steps = 24;
          for (let k = 1; k <= steps; k += 1) {
            const share = k / steps;
            const ns =
              share < 0.6 + 0.35 * (1 - g.depth)
                ? 1000 * (1 + 0.1 * k)
                : Math.round(1000 + (s.latency.max_ns - 1000) * ((share - 0.5) * 2) ** 3);
            out.latency.push([recording, g.name, Math.max(ns, 1000 + 100 * k), share]);
          }
        }
        if (i > 0)
          for (const cause of [
            'the next timer',
            'interrupts before the timer',
            'utilisation above the threshold',
            'tick kept',
            'the latency limit',
          ])
            if (next() > 0.15)
              out.divergence.push([
                recording,
                g.name,
                governors[0].name,
                cause,
                Math.floor(3000 * next() ** 3),
                (next() - 0.4) * 1.5,
                s.latency ? Math.round((next() - 0.6) * 5e7) : null,
              ]);
      });
      for (const c of clusters)
        for (let k = 0; k < 30; k += 1) {
          const from = Math.round(1000 * 10 ** (k / 6));
          const bell = Math.exp(-(((k - 9) / 4) ** 2)) + 0.5 * Math.exp(-(((k - 21) / 3) ** 2));
          const count = Math.round(1200 * bell * (0.7 + 0.6 * next()));
          if (count > 0)
            out.periods.push([recording, c.name, from, Math.round(1000 * 10 ** ((k + 1) / 6)), count]);
        }
      const lanes = [{ name: 'recorded', role: '', depth: 0.6 }, ...governors];
      for (const cpu of cpus.slice(0, options.timelineCpus)) {
        const c = clusters.find((one) => one.cpus.includes(cpu));
        let at = 4816244608385;
        for (let k = 0; k < options.timelinePeriods; k += 1) {
          at += Math.round(50000 + 900000 * next() ** 2);
          const length = Math.round(2000 * 10 ** (3.7 * next()));
          const ideal = c.states.reduce((deepest, [, target], j) => (target <= length ? j : deepest), 0);
          const wake = ['hrtimer', 'ipi', 'irq', 'tick'][Math.floor(4 * next())];
          for (const lane of lanes) {
            const off = next();
            const state =
              lane.role === 'bound' || off < 0.72
                ? ideal
                : Math.max(
                    0,
                    Math.min(c.states.length - 1, ideal + (off < 0.72 + 0.28 * lane.depth ? 1 : -1)),
                  );
            const verdict = state > ideal ? 'too deep' : state < ideal ? 'too shallow' : 'right';
            const why =
              lane.role === ''
                ? ''
                : `1  the next timer is due in ${Math.round(length * 1.1)} ns\n2  the expected idle time is ${length} ns: state ${state} is the deepest whose target residency fits`;
            out.timeline.push([
              recording,
              cpu,
              lane.name,
              lane.role === '' ? '' : lane.name,
              at,
              at + length,
              c.states[state][0],
              state,
              verdict,
              wake,
              why,
            ]);
          }
          at += length;
        }
      }
    }
    return Object.entries(out)
      .filter(([, rows]) => rows.length > 0)
      .map(([name, rows]) => table(name, rows));
  }

  function page(kind, title, more) {
    return {
      schema: 'idlewise.page/1',
      kind,
      title,
      trust: {
        grade: 'good',
        why: 'replay repeats 100.00 % of the kernel\u2019s choices of state and 98.48 % of those of the tick',
      },
      verdicts: [],
      command: ['idlewise', kind, 'tests/data/mixed.dat', '--platform', 'pixel6'],
      version: '0.1.0',
      hashes: [
        { name: 'mixed.dat', hash: '8e5ffecadf2183d90b3fd192e7955630' },
        { name: 'platform pixel6', hash: '8c5292ee25dc2a03' },
      ],
      warnings: [],
      notes: [],
      tables: [],
      sampled: [],
      report: { schema: `idlewise.${kind}/1` },
      ...more,
    };
  }

  const role = (i, name) => (name === 'oracle' ? 'bound' : i === 0 ? 'baseline' : 'governor');
  const some = (names) =>
    names.map((name, i) => ({ name, role: role(i, name), depth: (names.length - i) / (names.length + 1) }));

  function samples(replayText) {
    const replay = JSON.parse(replayText);
    const trace = replay.traces[0];
    const real = trace.governors.map((g, i) => ({
      name: g.governor,
      role: role(i, g.governor),
      depth: 0.9 - 0.18 * i,
      score: g.score,
    }));
    const inputs = trace.head.inputs.map(
      (i) =>
        `${i.name}: recorded ${i.recorded}, derived ${i.derived}, bounded ${i.bounded}, assumed ${i.assumed} (${i.how})`,
    );
    const notes = [
      {
        label: 'fidelity',
        text: `replay of ${trace.fidelity.governor} repeats the kernel's choices: state ${trace.fidelity.same_state_pct.toFixed(2)} %`,
      },
      ...trace.head.left_out.map((l) => ({ label: 'left out', text: `CPU ${l.cpu}: ${l.why}` })),
      ...trace.head.health.map((h) => ({
        label: 'health',
        text: `${h.count} ${h.what} (first: ${h.first})`,
      })),
      ...inputs.map((text) => ({ label: 'inputs', text })),
      { label: 'energy', text: replay.platform.energy_basis[0] },
      { label: 'model', text: 'open loop: events do not move in time when a state is slower' },
    ];
    const verdicts = [
      'teo-6.1 spends 2.01 % more idle energy than menu-6.1 and wakes up 47.30 % faster.',
      'teo-util and shallow trade energy for latency: at least 28.90 % more energy, at least 94.07 % less latency.',
      'No governor comes closer than 53.28 % to the energy of the oracle, which knows the future.',
    ];
    const ONE = [{ name: '', cpus: [0], states: PIXEL[0].states }];
    const BIG = [
      { name: 'LITTLE', cpus: [0, 1, 2, 3], states: PIXEL[0].states },
      { name: 'mid', cpus: [4, 5], states: PIXEL[0].states },
      {
        name: 'big',
        cpus: [6, 7],
        states: [
          ['WFI', 1000],
          ['c2', 3500000],
        ],
      },
    ];
    const small = { timelineCpus: 8, timelinePeriods: 120 };
    const twenty = some(['menu', ...Array.from({ length: 18 }, (_, i) => `teo-variant-${i + 1}`), 'oracle']);
    const silent = real.map((g) => ({ ...g, score: { ...g.score, latency: null } }));
    const next = random(5);
    const points = [];
    for (const [series, unit, level] of [
      ['benchmark time', 's', 12.4],
      ['package energy', 'J', 310],
      ['wakeup latency p99', 'ns', 84000],
    ])
      ['menu', 'teo', 'teo-util'].forEach((g, i) => {
        for (let k = 0; k < 24; k += 1)
          points.push([series, g, k * 3 + i, level * (1 + 0.02 * i + 0.03 * (next() + next() - 1)), unit]);
      });
    // A sweep of a grid: every setting of two parameters with numbers and one with words.
    const swept = (governor, words) => {
      const of = [];
      for (let decay = 1; decay <= 6; decay += 1)
        for (const threshold of [5000, 10000, 20000, 50000])
          for (const word of words) of.push({ decay, threshold, word });
      const rows = [];
      const values = [];
      const add = (name, role, energy, latency) => {
        const front = energy + latency < 2 ? 'yes' : 'no';
        rows.push([name, governor, role, front, 'energy', 'idle energy', '%', energy, 1]);
        rows.push([name, governor, role, front, 'latency_mean', 'mean latency', '%', latency, 2]);
        rows.push([name, governor, role, front, 'too_deep', 'too deep', 'pp', null, 0]);
      };
      add(governor, 'baseline', 0, 0);
      of.forEach(({ decay, threshold, word }, i) => {
        const name = `${governor}:decay_shift=${decay},residency_threshold_ns=${threshold},mode=${word}`;
        add(name, 'governor', 2 * decay - 6 + next(), 8 - 2 * decay + threshold / 20000 + next());
        values.push([name, governor, 'decay_shift', String(decay), decay]);
        values.push([name, governor, 'residency_threshold_ns', String(threshold), threshold]);
        values.push([name, governor, 'mode', word, i % words.length]);
      });
      return [table('swept_settings', rows), table('setting_values', values)];
    };

    const response = [];
    for (const [kind, unit] of [
      ['step', ''],
      ['ramp', ''],
      ['step', 'MHz'],
    ])
      ['PELT, 32 ms', 'PELT, 8 ms', 'WALT'].forEach((subject, i) => {
        const tau = [46e6, 12e6, 30e6][i];
        for (let k = 0; k <= 80; k += 1) {
          const t = k * 2e6;
          const target = kind === 'step' ? 1 : t / 160e6;
          const v =
            subject === 'WALT'
              ? Math.floor(target * Math.min(1, Math.ceil(t / 20e6) / 4) * 8) / 8
              : target * (1 - Math.exp(-t / tau));
          response.push([subject, kind, t, Math.round((unit === 'MHz' ? 2200 : 1024) * v), unit]);
        }
      });
    const HOSTILE = [
      '<img src=x onerror="window.pwned=1">',
      '</script><script>window.pwned=1</script>',
      'a\u001b[31m\u202egnp.exe',
      '${window.pwned=1}',
      'datum.x"];window.pwned=1//',
    ];
    const hostile = HOSTILE.map((name, i) => ({
      name,
      role: i === 0 ? 'baseline' : 'governor',
      depth: 0.9 - 0.15 * i,
    }));
    const evil = [
      {
        name: '<b onclick=alert(1)>c</b>&amp;',
        cpus: [0, 1],
        states: [
          ['<svg/onload=window.pwned=1>', 1000],
          ['&lt;\u0000', 20000],
        ],
      },
    ];
    return {
      replay: page('replay', 'mixed.dat on pixel6', {
        verdicts,
        notes,
        tables: tablesOf(1, ['mixed.dat'], real, PIXEL, small),
        report: replay,
      }),
      recordings: page('compare', 'teo-6.1 and teo-util on three recordings', {
        verdicts: ['teo-util trades energy for latency in all three recordings.'],
        notes,
        trust: { grade: 'limited', why: 'one of three recordings does not hold the kernel\u2019s choices' },
        warnings: ['video.dat: the recording lost 120 events.'],
        tables: tablesOf(
          2,
          ['mixed.dat', 'video.dat', 'a-recording-with-a-rather-long-name-of-the-lab-2026-10-03.dat'],
          some(['teo-6.1', 'teo-util', 'oracle']),
          BIG,
          small,
        ),
      }),
      'one-cpu': page('simulate', 'frames on one CPU', {
        verdicts: ['menu and teo do not differ by more than 1 %.'],
        tables: tablesOf(3, ['frames'], some(['menu', 'teo']), ONE, small).concat(
          table('response', response),
        ),
      }),
      'no-latency': page('replay', 'mixed.dat without latencies', {
        verdicts: verdicts.slice(2),
        trust: { grade: 'poor', why: 'the recording names no wake events: no latency is known' },
        tables: tablesOf(1, ['mixed.dat'], silent, PIXEL, small),
      }),
      'cpus-200': page('replay', 'A server with 200 CPUs', {
        verdicts: verdicts.slice(0, 1),
        tables: tablesOf(4, ['server.dat'], some(['menu', 'teo', 'ladder', 'oracle']), SERVER(200), {
          timelineCpus: 24,
          timelinePeriods: 60,
        }),
      }),
      'governors-20': page('replay', 'Twenty governors', {
        verdicts: ['teo-variant-7 is on the Pareto front.'],
        tables: tablesOf(6, ['mixed.dat'], twenty, PIXEL, { timelineCpus: 4, timelinePeriods: 60 }),
      }),
      sweep: page('sweep', 'teo, 49 settings', { tables: swept('teo', ['fast', 'slow']) }),
      ab: page('ab', 'A benchmark under three governors', {
        verdicts: [
          'teo-util: 1.9 % slower (95 % interval +1.1 % .. +2.7 %).',
          'teo: no difference beyond 1 % (equivalence test, p = 0.003).',
        ],
        tables: [table('points', points)],
      }),
      reproduce: page('reproduce', 'Published tables, repeated', {
        verdicts: ['All 2 of 2 published directions are repeated.'],
        tables: [
          {
            name: 'claims',
            title: 'Claims',
            columns: [
              TEXT('claim', 'claim'),
              NUMBER('published', 'published', '%'),
              NUMBER('repeated', 'repeated', '%', 'less'),
            ],
            rows: [
              ['teo saves energy', -3.2, -2.9],
              ['menu is slower', 8.1, null],
            ],
          },
        ],
      }),
      hostile: page('replay', HOSTILE[1], {
        trust: { grade: HOSTILE[0], why: HOSTILE[2] },
        verdicts: HOSTILE,
        warnings: HOSTILE,
        command: ['idlewise', ...HOSTILE],
        notes: HOSTILE.map((text) => ({ label: text, text })),
        hashes: HOSTILE.map((name) => ({ name, hash: name })),
        sampled: HOSTILE,
        report: { name: HOSTILE },
        tables: tablesOf(7, [HOSTILE[0], HOSTILE[2]], hostile, evil, {
          timelineCpus: 2,
          timelinePeriods: 20,
        }).concat(
          table(
            'response',
            response.map((r) => [HOSTILE[1], ...r.slice(1)]),
          ),
          table(
            'points',
            points.map((r) => [HOSTILE[3], HOSTILE[1], ...r.slice(2)]),
          ),
          ...swept(HOSTILE[1], HOSTILE.slice(0, 2)),
        ),
      }),
      // Numbers at the edges of what charts expect: none, one, zero, unknown.
      odd: page('diff', '', {
        trust: { grade: '', why: '' },
        command: [],
        hashes: [],
        report: null,
        tables: [
          table('measures', [
            ['', 'menu', 'baseline', 'energy', 'idle energy', 'mJ', 'less', null, null, null, '%', 'change'],
            ['', 'teo', 'governor', 'energy', 'idle energy', 'mJ', 'less', 0, null, null, '%', 'change'],
            [
              '',
              'teo',
              'governor',
              'score',
              'score',
              '',
              'more',
              1e-9,
              123456789012,
              -99.999,
              '%',
              'nothing',
            ],
          ]),
          table('front', [
            ['', 'menu', 'baseline', 0, '', 0, 0],
            ['', 'teo', 'governor', null, '', 10, 10],
          ]),
          table('misses', [
            ['', 'menu', 0, null],
            ['', 'teo', 0, 0],
          ]),
          table('residency', [
            ['', 'menu', '', 0, 'WFI', 0, null],
            ['', 'teo', '', 0, 'WFI', 0, 100],
            ['', 'teo', '', 1, 'WFI', 0, 0],
          ]),
          table('periods', [
            ['', '', 0, 1000, 3],
            ['', '', 1000, 2000, 0],
          ]),
          table('targets', [
            ['', 'POLL', 0, 0],
            ['', 'C6', 5, 10000000000],
          ]),
          table('latency', [['', 'menu', 0, 1]]),
          table('divergence', [['', 'teo', 'menu', '', 0, null, null]]),
          table('timeline', [['', 7, 'recorded', '', 5, 5, 'WFI', 0, '', '', '']]),
          table('response', [
            ['one', 'step', 0, null, ''],
            ['one', 'step', 5, -3, ''],
          ]),
          table('points', [
            ['s', 'g', null, 5, ''],
            ['t', 'g', null, null, ''],
          ]),
          table('swept_settings', [
            ['teo', 'teo', 'baseline', 'no', 'energy', 'idle energy', '%', null, 1],
            ['teo:x=1', 'teo', 'governor', 'yes', 'energy', 'idle energy', '%', 0, 1],
            ['teo:x=1', 'teo', 'governor', 'yes', 'latency_mean', '', '', 1e9, 2],
          ]),
          table('setting_values', [['teo:x=1', 'teo', 'x', '1', 1]]),
          { name: 'empty', title: 'A table without rows', columns: [TEXT('a', 'a')], rows: [] },
        ],
      }),
      // More than a page holds: crates/chart leaves some of its timelines and points out.
      large: page('replay', 'More than a page holds', {
        verdicts: ['menu and teo differ.'],
        tables: tablesOf(8, ['long.dat'], some(['menu', 'teo', 'teo-util', 'oracle']), SERVER(64), {
          timelineCpus: 64,
          timelinePeriods: 200,
        }).concat(
          table(
            'points',
            Array.from({ length: 40000 }, (_, i) => [
              'benchmark time',
              i % 2 === 0 ? 'menu' : 'teo',
              i,
              12 + next(),
              's',
            ]),
          ),
        ),
      }),
    };
  }

  globalThis.idlewiseSamples = samples;
})();
