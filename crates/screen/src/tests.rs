// SPDX-License-Identifier: GPL-2.0-only
//! Is the screen readable on small and large machines and terminals, and do keys do what they say?

use std::time::Duration;

use idlewise_live::limits::Limiting;
use idlewise_live::watch::{Place, Row, Snapshot, StateRow};
use idlewise_view::Grouping;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::keys::{Action, press};
use crate::screen::{Column, Screen, draw};

const NAMES: [&str; 4] = ["POLL", "haltpoll idle", "C3", "C6"];

fn row(name: String, cpus: usize, seed: u32) -> Row {
    let deep = f64::from(seed % 50);
    let state =
        |name: &&str, time_pct| StateRow { name: (*name).to_string(), time_pct, ..StateRow::default() };
    Row {
        name,
        cpus,
        wakeups_per_s: f64::from(seed * 100),
        too_deep_pct: Some(f64::from(seed) / 10.0),
        too_shallow_pct: None,
        rejected_per_s: Some(0.0),
        busy_pct: 50.0 - deep,
        asleep_pct: 0.0,
        states: NAMES.iter().zip([10.0, 15.0, 25.0, deep]).map(|(n, t)| state(n, t)).collect(),
        ..Row::default()
    }
}

fn machine(cpus: u32, clusters: u32) -> Snapshot {
    let each = cpus / clusters;
    let place = |c: u32| {
        let cpus: Vec<u32> = (c * each..(c + 1) * each).collect();
        Place { name: format!("L3 {}-{}", c * each, (c + 1) * each - 1), cpus, capacity: None }
    };
    let cpu =
        |c: u32| Row { cpu: Some(c), cluster: Some((c / each) as usize), ..row(format!("cpu {c}"), 1, c) };
    Snapshot {
        schema: "idlewise.top/2",
        version: "0",
        kernel: "6.18.0".to_string(),
        driver: "intel_idle".to_string(),
        governor: "menu".to_string(),
        seconds: 2.0,
        power: Vec::new(),
        limiting: None,
        notes: Vec::new(),
        machine: row("all".to_string(), cpus as usize, 7),
        clusters: (0..clusters).map(|c| row(place(c).name, each as usize, c)).collect(),
        cpus: (0..cpus).map(cpu).collect(),
        places: (0..clusters).map(place).collect(),
    }
}

fn screen(snapshot: Snapshot) -> Screen {
    let mut screen = Screen::new(Duration::from_secs(2), Grouping::Cpu);
    screen.snapshot = Some(snapshot);
    screen
}

fn drawn(screen: &mut Screen, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, screen)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| line(y).trim_end().to_string()).collect()
}

fn hit(screen: &mut Screen, code: KeyCode) -> Action {
    press(screen, KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn a_small_machine_fits_a_small_terminal() {
    let lines = drawn(&mut screen(machine(2, 1)), 80, 24);
    let text = lines.join("\n");
    assert!(lines[0].starts_with("idlewise top   Linux 6.18.0   2 CPUs"), "{text}");
    assert!(lines[1].starts_with("governor menu   driver intel_idle   power not measured here"), "{text}");
    assert_eq!(lines[2], "0 POLL  1 haltpoll idle  2 C3  3 C6  z still asleep  # busy");
    assert!(lines[3].starts_with("CPUv            wakeups/s  deep %  shal %   rej/s  busy % time"), "{text}");
    assert!(lines[4].starts_with("all                 700.0    0.70       -    0.00   43.00 3"), "{text}");
    assert!(lines[5].starts_with("0                     0.0    0.00       -"), "{text}");
    assert!(lines[6].starts_with("1                   100.0    0.10"), "{text}");
    // 22 cells of time: C6, C3, haltpoll, POLL, work, each by its share.
    assert_eq!(lines[5].chars().skip(58).collect::<String>(), "22222211100###########");
    assert!(lines[23].starts_with(" q  quit"), "{text}");
}

#[test]
fn whether_the_machine_is_limited_is_a_line() {
    let limiting = Some(Limiting { limited: Some(false), ..Limiting::default() });
    let lines = drawn(&mut screen(Snapshot { limiting, ..machine(2, 1) }), 80, 24);
    assert_eq!(lines[2], "limits not limited");
    let lines = drawn(&mut screen(Snapshot { limiting: Some(Limiting::default()), ..machine(2, 1) }), 80, 24);
    assert_eq!(lines[2], "limits no powercap counters on this machine: power limits not known");
}

#[test]
fn a_wide_terminal_has_a_column_for_each_state() {
    let lines = drawn(&mut screen(machine(2, 1)), 200, 60);
    assert!(lines[3].contains("busy % 0 POLL 1 halt   2 C3   3 C6 time, by state"), "{}", lines[3]);
    assert!(lines[5].contains("50.00  10.00  15.00  25.00   0.00 2222"), "{}", lines[5]);
    assert_eq!(lines[5].chars().count(), 200);
}

#[test]
fn a_large_machine_is_scrolled_and_every_cpu_can_be_seen() {
    for (width, height) in [(80, 24), (200, 60)] {
        let mut screen = screen(machine(512, 8));
        let first = drawn(&mut screen, width, height);
        assert!(first[5].starts_with("L3 0-63"), "{}", first[5]);
        assert!(first[6].starts_with("  0 "), "{}", first[6]);
        let page = usize::from(height) - 6;
        assert!(first[3].ends_with(&format!("rows 1-{page} of 520")), "{}", first[3]);
        hit(&mut screen, KeyCode::PageDown);
        assert!(drawn(&mut screen, width, height).join("\n").contains(&format!("\n  {} ", page - 1)));
        hit(&mut screen, KeyCode::End);
        let last = drawn(&mut screen, width, height);
        assert!(last[usize::from(height) - 2].starts_with("  511 "), "{}", last.join("\n"));
        // From the end one line up is one line up, however often End was pressed.
        hit(&mut screen, KeyCode::Up);
        let up = drawn(&mut screen, width, height);
        assert!(up[usize::from(height) - 2].starts_with("  510 "));
        hit(&mut screen, KeyCode::Home);
        assert_eq!(drawn(&mut screen, width, height), first);
    }
}

#[test]
fn rows_are_sorted_and_grouped_as_asked() {
    let mut screen = screen(machine(512, 8));
    hit(&mut screen, KeyCode::Char('s'));
    assert_eq!(screen.sort, Column::Wakeups);
    let lines = drawn(&mut screen, 80, 24);
    assert!(lines[5].starts_with("511 L3 448-511"), "the busiest first: {}", lines[5]);
    hit(&mut screen, KeyCode::Char('r'));
    assert!(drawn(&mut screen, 80, 24)[5].starts_with("0 L3 0-63"));
    hit(&mut screen, KeyCode::Char('g'));
    let lines = drawn(&mut screen, 80, 24);
    assert!(lines[5].starts_with("L3 0-63") && lines[12].starts_with("L3 448-511"), "{}", lines.join("\n"));
    hit(&mut screen, KeyCode::Char('g'));
    let lines = drawn(&mut screen, 80, 24);
    assert!(lines[4].starts_with("all") && lines[5].is_empty(), "{}", lines.join("\n"));
    hit(&mut screen, KeyCode::Char('n'));
    assert_eq!((screen.sort, screen.reversed), (Column::Name, false));
    hit(&mut screen, KeyCode::Char('S'));
    assert_eq!(screen.sort, Column::Busy);
}

#[test]
fn freezing_stops_and_begins_anew_and_the_interval_has_ends() {
    let mut screen = screen(machine(2, 1));
    assert_eq!(hit(&mut screen, KeyCode::Char(' ')), Action::None);
    assert!(drawn(&mut screen, 80, 24)[0].contains("FROZEN every 2 s"));
    assert_eq!(hit(&mut screen, KeyCode::Char('+')), Action::None, "still frozen");
    assert_eq!(screen.interval, Duration::from_secs(5));
    assert_eq!(hit(&mut screen, KeyCode::Char('f')), Action::Anew);
    for _ in 0..20 {
        hit(&mut screen, KeyCode::Char('-'));
    }
    assert_eq!(screen.interval, Duration::from_millis(100));
    for _ in 0..20 {
        hit(&mut screen, KeyCode::Char('+'));
    }
    assert_eq!(screen.interval, Duration::from_secs(3600));
    assert_eq!(hit(&mut screen, KeyCode::Char('q')), Action::Quit);
    assert_eq!(press(&mut screen, KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Action::Quit);
}

#[test]
fn help_covers_the_rows_until_a_key() {
    let mut screen = screen(machine(2, 1));
    hit(&mut screen, KeyCode::Char('?'));
    let text = drawn(&mut screen, 80, 24).join("\n");
    assert!(text.contains("any key closes this") && text.contains("(below/usage)"), "{text}");
    assert_eq!(hit(&mut screen, KeyCode::Esc), Action::None, "closes the help only");
    assert!(!drawn(&mut screen, 80, 24).join("\n").contains("any key"));
    hit(&mut screen, KeyCode::Char('h'));
    assert_eq!(hit(&mut screen, KeyCode::Char('q')), Action::Quit);
}

#[test]
fn the_terminal_obeys_no_name() {
    let hostile = "C1\u{1b}[2J\u{9b}2J\u{202e}\n\u{7}";
    let mut snapshot = machine(2, 1);
    for name in
        [&mut snapshot.kernel, &mut snapshot.driver, &mut snapshot.governor, &mut snapshot.cpus[0].name]
    {
        *name = hostile.to_owned();
    }
    snapshot.machine.states[2].name = hostile.to_owned();
    snapshot.places[0].name = hostile.to_owned();
    snapshot.notes.push(idlewise_model::NoteId::Failed.note(hostile));
    for width in [80, 200] {
        let text = drawn(&mut screen(snapshot.clone()), width, 24).concat();
        assert!(text.contains("C1"), "{text}");
        assert_eq!(idlewise_report::one_line(&text), text);
    }
}

#[test]
fn no_terminal_is_too_small_to_draw_on() {
    for (width, height) in [(1, 1), (5, 2), (20, 5), (40, 8), (300, 3)] {
        for help in [false, true] {
            let mut screen = screen(machine(512, 8));
            screen.help = help;
            screen.scroll = 1_000;
            drawn(&mut screen, width, height);
            screen.snapshot = None;
            drawn(&mut screen, width, height);
        }
    }
}
