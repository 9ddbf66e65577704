// SPDX-License-Identifier: GPL-2.0-only
//! Do the governors behave as their stories say?
//!
//! A story is `tests/stories/GOVERNOR.md`: prose for people, and tables that are played through the idle loop. A line
//! above each table names machine and governor; see `tests/stories/README.md`.

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_governor::{Choice, Device, Inputs, Instance, Slot, Spec, catalog};
use idlewise_idle::{Chooser, Moment, NEVER_AT_NS, TickAhead};
use idlewise_model::{
    Change, Confidence, Entry, IdleTable, Ledger, NO_LATENCY_LIMIT_NS, Piece, TickChoice, TickGrid, WakeCause,
};
use idlewise_replay::{Events, Setting, Workload, WorkloadEvent, run};
use idlewise_view::explain::readable;

fn stories() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stories")
}

/// A table of a story and what stands above it.
struct Scene {
    story: String,
    line: usize,
    spec: Spec,
    table: IdleTable,
    capacity: u32,
    hz: u32,
    rows: Vec<Row>,
}

/// One line: a wait, played `times` times; what is expected holds for the last.
struct Row {
    line: usize,
    times: usize,
    timer_ns: Option<u64>,
    woken_ns: u64,
    exit_ns: Option<u64>,
    busy_ns: u64,
    tick_in_ns: Option<u64>,
    util: u16,
    iowait: u16,
    limit_ns: i64,
    disabled: u16,
    wakes_nobody: bool,
    chosen: Vec<String>,
    tick: Vec<String>,
    because: Vec<String>,
}

fn duration(text: &str) -> u64 {
    let (number, unit) = text.split_once(' ').unwrap_or_else(|| panic!("`{text}`: a time such as `1.5 ms`"));
    let ns = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => panic!("`{text}`: ns, us, ms or s"),
    };
    (number.parse::<f64>().unwrap() * ns).round() as u64
}

/// `A then 3 x B`: A, B, B, B.
fn in_turn(text: &str) -> Vec<String> {
    let times = |part: &str| match part.split_once(" x ") {
        Some((times, what)) => vec![what.to_owned(); times.parse().unwrap()],
        None => vec![part.to_owned()],
    };
    text.split(" then ").flat_map(times).collect()
}

impl Row {
    fn new(line: usize, head: &[String], cells: &[String], table: &IdleTable) -> Self {
        let known = [
            "times",
            "timer in",
            "woken after",
            "exit",
            "busy",
            "tick in",
            "util %",
            "I/O",
            "limit",
            "disabled",
            "then",
            "chosen",
            "tick",
            "because",
        ];
        head.iter().for_each(|h| assert!(known.contains(&h.as_str()), "line {line}: column `{h}`"));
        let cell = |name: &str| {
            let at = head.iter().position(|h| h == name);
            at.and_then(|i| cells.get(i)).map(String::as_str).filter(|c| !c.is_empty())
        };
        let timer_ns = cell("timer in").filter(|c| *c != "never").map(duration);
        let woken_ns = match cell("woken after").unwrap_or("timer") {
            "timer" => timer_ns.unwrap_or_else(|| panic!("line {line}: no timer to be woken by")),
            time => duration(time),
        };
        let number = |name: &str| cell(name).map(|c| c.parse::<u16>().unwrap());
        let bit = |name: &str| {
            let at = table.states().iter().position(|s| s.name == name);
            1_u16 << at.unwrap_or_else(|| panic!("line {line}: no state `{name}`"))
        };
        let because = cell("because").into_iter().flat_map(|c| c.split(" ... ")).map(str::to_owned);
        assert!(cell("chosen").is_some(), "line {line}: what is chosen?");
        let disabled = cell("disabled").into_iter().flat_map(|c| c.split(' ')).map(bit).sum();
        Self {
            line,
            times: number("times").unwrap_or(1).into(),
            timer_ns,
            woken_ns,
            exit_ns: cell("exit").map(duration),
            busy_ns: cell("busy").map_or(2_000_000, duration),
            tick_in_ns: cell("tick in").map(duration),
            util: u16::try_from(u32::from(number("util %").unwrap_or(0)) * 1024 / 100).unwrap(),
            iowait: number("I/O").unwrap_or(0),
            limit_ns: cell("limit").map_or(NO_LATENCY_LIMIT_NS, |c| duration(c).cast_signed()),
            disabled,
            wakes_nobody: cell("then") == Some("idle again"),
            chosen: cell("chosen").map_or_else(Vec::new, in_turn),
            tick: cell("tick").map_or_else(Vec::new, in_turn),
            because: because.collect(),
        }
    }
}

fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|c| c.trim().replace('`', "")).collect()
}

/// The scenes of a story: `Played on PLATFORM[, CLUSTER][, HZ n] by GOVERNOR:` and a table each.
fn read(path: &Path) -> Vec<Scene> {
    let story = path.file_name().unwrap().to_str().unwrap().to_owned();
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut scenes = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let Some(played) = line.strip_prefix("Played on ") else { continue };
        let wrong = format!("{story}:{}: Played on PLATFORM[, CLUSTER][, HZ n] by `GOVERNOR`:", i + 1);
        let (place, governor) = played.trim_end_matches(':').split_once(" by ").expect(&wrong);
        let mut cluster = None;
        let mut words = place.split(", ").map(|w| w.replace('`', ""));
        let platform = idlewise_platform::find(&words.next().expect(&wrong)).unwrap();
        let mut hz = platform.hz.expect(&wrong);
        let mut only = None;
        for word in words {
            if let Some(n) = word.strip_prefix("HZ ") {
                hz = n.parse().unwrap();
            } else if let Some(state) = word.strip_suffix(" only") {
                only = Some(state.to_owned());
            } else {
                cluster = Some(word);
            }
        }
        let named = |name: &String| platform.clusters.iter().find(|c| c.name == *name).unwrap();
        let cluster = cluster.as_ref().map_or_else(|| &platform.clusters[0], named);
        let mut table = cluster.table.clone();
        if let Some(only) = only {
            let states = table.states().iter().filter(|s| s.name == only).cloned().collect();
            table = IdleTable::new(states).expect(&wrong);
        }
        let start = i + lines[i..].iter().position(|l| l.starts_with('|')).expect(&wrong);
        let head = cells(lines[start]);
        let body = lines[start + 2..].iter().take_while(|l| l.starts_with('|')).enumerate();
        scenes.push(Scene {
            story: story.clone(),
            line: i + 1,
            spec: governor.replace('`', "").parse().unwrap(),
            rows: body.map(|(n, l)| Row::new(start + 3 + n, &head, &cells(l), &table)).collect(),
            table,
            capacity: cluster.capacity,
            hz,
        });
    }
    scenes
}

impl Scene {
    /// The state that is entered last of those told.
    fn index(&self, chosen: &[String]) -> u8 {
        let at = self.table.states().iter().position(|s| Some(&s.name) == chosen.last());
        u8::try_from(at.unwrap()).unwrap()
    }

    fn workload(&self) -> Workload {
        let mut workload = Workload {
            cpu: 0,
            grid: TickGrid::from_hz(self.hz),
            tick_handler_ns: 2_000,
            events: Events::default(),
            latency: Vec::new(),
            disabled: Vec::new(),
            refusals: Vec::new(),
        };
        let mut events = Vec::new();
        let mut now_ns = 1_000_000_000;
        let mut visit_start = true;
        for row in &self.rows {
            for _ in 0..row.times {
                now_ns += if visit_start { row.busy_ns } else { 5_000 };
                if let Some(tick_in_ns) = row.tick_in_ns {
                    now_ns = workload.grid.after(now_ns + tick_in_ns - 1) - tick_in_ns;
                }
                workload.latency.push(Change { at_ns: now_ns, value: row.limit_ns });
                workload.disabled.push(Change { at_ns: now_ns, value: row.disabled });
                let by_timer = row.timer_ns == Some(row.woken_ns);
                events.push(WorkloadEvent {
                    start_ns: now_ns,
                    at_ns: now_ns + row.woken_ns,
                    hrtimer_at_ns: row.timer_ns.map_or(NEVER_AT_NS, |ns| now_ns + ns),
                    wheel_at_ns: NEVER_AT_NS,
                    stale_event_at_ns: NEVER_AT_NS,
                    exit_lag_ns: row.exit_ns.map_or(0, |ns| u32::try_from(ns).unwrap()),
                    response_ns: 0,
                    handler_ns: 2_000,
                    entry_lag_ns: 500,
                    util: row.util,
                    iowait: row.iowait,
                    state: row.exit_ns.map_or(Piece::NO_STATE, |_| self.index(&row.chosen)),
                    cause: if by_timer { WakeCause::Hrtimer } else { WakeCause::Irq },
                    visit_start,
                    visit_end: !row.wakes_nobody,
                    tick_off: false,
                    tick_needed_ns: 0,
                    timers: Confidence::Recorded,
                });
                now_ns += row.woken_ns;
                visit_start = !row.wakes_nobody;
            }
        }
        workload.events = events.into();
        workload
    }
}

/// What a governor chose and said when it was asked; asked again in the same wait it has the same `wait_at_ns`.
struct Answer {
    wait_at_ns: u64,
    state: String,
    words: Vec<String>,
}

struct Teller<'t> {
    table: &'t IdleTable,
    instance: Instance,
    slot: Slot,
    answers: Vec<Answer>,
}

impl Chooser for Teller<'_> {
    fn select(&mut self, inputs: &Inputs, moment: &Moment, _tick: TickAhead) -> Choice {
        let choice = self.instance.select(self.slot, inputs);
        let known = usize::try_from(choice.index).ok().and_then(|i| self.table.states().get(i));
        self.answers.push(Answer {
            wait_at_ns: moment.wake_at_ns,
            state: known.map_or_else(|| format!("no state {}", choice.index), |s| s.name.clone()),
            words: self.instance.take_messages().iter().map(|w| readable(w)).collect(),
        });
        choice
    }

    fn reflect(&mut self, entered: usize, now_ns: u64) {
        self.instance.reflect(self.slot, entered, now_ns);
    }

    fn device(&mut self) -> &mut Device {
        self.instance.device(self.slot)
    }

    fn set_disabled(&mut self, mask: u16) {
        self.instance.set_disabled(self.slot, mask);
    }
}

/// What became of the tick at every entry, one for each answer.
#[derive(Default)]
struct Ticks(Vec<&'static str>);

impl Ledger for Ticks {
    fn entry(&mut self, entry: &Entry) {
        self.0.push(match entry.tick {
            TickChoice::Kept => "keep",
            TickChoice::Stopped => "stop",
            TickChoice::WasStopped => "is off",
            TickChoice::Unknown => "unknown",
        });
    }
}

/// Plays a scene; gives what is not as told. With `aloud` every answer is printed.
fn play(scene: &Scene, aloud: bool) -> Vec<String> {
    let workload = scene.workload();
    let mut instance = Instance::load_explaining(&scene.spec, workload.grid.period_ns).unwrap();
    let slot = instance.add_cpu(0, &scene.table, scene.capacity).unwrap();
    let mut teller = Teller { table: &scene.table, instance, slot, answers: Vec::new() };
    let mut ticks = Ticks::default();
    let setting = Setting::new(true, 0);
    run(&workload, &scene.table, scene.capacity, setting, &mut teller, &mut ticks).unwrap();
    assert_eq!(teller.answers.len(), ticks.0.len(), "{}: an answer without an entry", scene.story);

    let mut wrong = Vec::new();
    let mut last = 0;
    for row in &scene.rows {
        last += row.times;
        let mut waits = workload.events.in_memory().unwrap()[last - row.times..].iter().take(row.times);
        if waits.clone().any(|w| teller.answers.iter().all(|a| a.wait_at_ns != w.at_ns)) {
            wrong.push(format!(
                "{}:{}: a wait that began too late: let it be busy longer",
                scene.story, row.line
            ));
        }
        let wait_at_ns = waits.next_back().unwrap().at_ns;
        let asked: Vec<(&Answer, &str)> = (teller.answers.iter().zip(ticks.0.iter().copied()))
            .filter(|(a, _)| a.wait_at_ns == wait_at_ns)
            .collect();
        let mut told = format!("{}:{}: {}", scene.story, row.line, scene.spec);
        for (answer, tick) in &asked {
            told += &format!("\n  {}, tick: {tick}\n    {}", answer.state, answer.words.join("\n    "));
        }
        if aloud {
            eprintln!("{told}");
        }
        let of = |n: usize| asked.get(..n).unwrap_or_default();
        let states: Vec<&str> = of(row.chosen.len()).iter().map(|(a, _)| a.state.as_str()).collect();
        let kept: Vec<&str> = of(row.tick.len()).iter().map(|(_, t)| *t).collect();
        let words: Vec<&String> = of(row.chosen.len()).iter().flat_map(|(a, _)| &a.words).collect();
        if states != row.chosen {
            wrong.push(format!("{told}\n  not the state told: {}", row.chosen.join(" then ")));
        } else if kept != row.tick {
            wrong.push(format!("{told}\n  not the tick told: {}", row.tick.join(" then ")));
        } else if let Some(because) = row.because.iter().find(|b| !words.iter().any(|w| w.contains(*b))) {
            wrong.push(format!("{told}\n  not its words: {because}"));
        }
    }
    wrong
}

#[test]
fn every_governor_does_what_its_story_tells() {
    let aloud = std::env::var("IDLEWISE_TELL").ok();
    let mut wrong = Vec::new();
    for info in catalog() {
        let path = stories().join(format!("{}.md", info.id));
        assert!(path.is_file(), "{} has no story: write {}", info.id, path.display());
        let scenes = read(&path);
        assert!(!scenes.is_empty(), "{}: no table below a line `Played on ...`", info.id);
        for scene in &scenes {
            assert!(!scene.rows.is_empty(), "{}:{}: an empty table", scene.story, scene.line);
            wrong.extend(play(scene, aloud.as_deref() == Some(info.id)));
        }
        let own = scenes.iter().filter(|s| s.spec.id == info.id);
        if !own.flat_map(|s| &s.rows).any(|r| !r.because.is_empty()) {
            wrong.push(format!("{}: no reason is reported", info.id));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
