// SPDX-License-Identifier: GPL-2.0-only
//! Does a platform file that is wrong get a message that says where, what was expected and what to do?

use idlewise_platform::{Platform, shipped};

const GOOD: &str = r#"format = 1
id = "board"
name = "A board"
hz = 250

[[cluster]]
name = "all"
cpus = "0-1"
capacity = 1024

[[cluster.state]]
name = "WFI"
exit_latency_us = 1
residency_us = 1

[[cluster.state]]
name = "off"
exit_latency_us = 230
residency_us = 2000
entry_us = 70
"#;

#[track_caller]
fn says(from: &str, to: &str, expected: &str) {
    assert!(GOOD.contains(from), "{from}");
    let error = Platform::from_toml(&GOOD.replacen(from, to, 1), "b.toml").unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn the_good_file_is_good() {
    let p = Platform::from_toml(GOOD, "b.toml").unwrap();
    assert_eq!(p.clusters[0].table.states()[1].entry_ns, 70_000);
}

#[test]
fn what_only_simulations_read_comes_back_from_its_own_text() {
    let costs = "one_cache = true\none_thread = true\n[costs]\nirq_ns = 1\nloop_ns = 20\ntick_ns = 2\nwake_ns = 3\nswitch_ns = 4\nsyscall_ns = 5\nidle_ns = 6\n\
                 again_ns = 7\nstop_tick_ns = 8\nstart_tick_ns = 9\nleave_ns = 10\nipi_ns = 11\nsource = \"measured\"\n";
    let text = GOOD.replacen("hz = 250\n", &format!("hz = 250\n{costs}"), 1).replacen(
        "capacity = 1024",
        "capacity = 500\nspeed = 1024",
        1,
    );
    let p = Platform::from_toml(&text, "b.toml").unwrap_or_else(|e| panic!("{e}"));
    let (costs, source) = p.costs.as_ref().unwrap();
    assert_eq!((costs.irq_ns, costs.leave_ns, costs.mem_bytes_per_us), (1, 10, 8000));
    assert_eq!((costs.irq_exit_ns, costs.user_ns, costs.loop_ns, p.one_thread), (0, 0, 20, true));
    assert_eq!((source.as_str(), p.one_cache, p.clusters[0].speed), ("measured", true, Some(1024)));
    assert_eq!(Platform::from_toml(&p.to_toml(), "b.toml").as_ref(), Ok(&p));
    let wrong = text.replacen("idle_ns = 6", "idle_ns = -6", 1);
    let e = Platform::from_toml(&wrong, "b.toml").unwrap_err().to_string();
    assert!(e.contains("costs: idle_ns is -6, expected ns from 0 to 10000000"), "{e}");
    let without = text.replacen("idle_ns = 6\n", "", 1);
    let e = Platform::from_toml(&without, "b.toml").unwrap_err().to_string();
    assert!(e.contains("missing field `idle_ns`"), "{e}");
}

#[test]
fn threads_of_a_core_come_back_from_their_own_text() {
    let keys = "capacity = 1024\nthreads = 4\nthread_speed = { 2 = 800, 4 = 475 }\ncache_cpus = 8";
    let text = GOOD.replacen("0-1", "0-15", 1).replacen("capacity = 1024", keys, 1);
    let p = Platform::from_toml(&text, "b.toml").unwrap_or_else(|e| panic!("{e}"));
    let c = &p.clusters[0];
    assert_eq!((c.threads(), &c.thread_speed[..], c.cache_cpus), (4, &[1000, 800, 800, 475][..], Some(8)));
    assert_eq!(Platform::from_toml(&p.to_toml(), "b.toml").as_ref(), Ok(&p));
    let changes = [("cluster.all.thread_speed.3".to_owned(), "600".to_owned())].into();
    assert_eq!(p.changed(&changes).unwrap().clusters[0].thread_speed, [1000, 800, 600, 475]);
    let plain = Platform::from_toml(GOOD, "b.toml").unwrap();
    assert_eq!((plain.clusters[0].threads(), plain.clusters[0].cache_cpus), (1, None));
    assert!(!plain.to_toml().contains("thread") && !plain.to_toml().contains("cache_cpus"));
}

#[test]
fn wrong_threads() {
    let with = |keys: &str, expected: &str| {
        says("capacity = 1024", &format!("capacity = 1024\n{keys}"), expected);
    };
    with(
        "threads = 9",
        "b.toml:10: threads is 9, expected threads of a core from 1 to 8; correct the number or its unit",
    );
    with(
        "threads = 4",
        "b.toml:10: cluster `all`: 2 CPUs are no whole cores of 4 threads; list all threads of each core",
    );
    with(
        "threads = 2\nthread_speed = { 2 = 1001 }",
        "b.toml:11: thread_speed.2 is 1001, expected thousandths from 1 to 1000; correct the number or its unit",
    );
    with(
        "threads = 2\nthread_speed = { 3 = 500 }",
        "b.toml:11: cluster `all`: thread_speed.3, but a core has 2 threads; give one for each number of busy threads, from 2 to `threads`",
    );
    with(
        "threads = 2\ncache_cpus = 1",
        "b.toml:11: cache_cpus is 1: no whole cores of 2 threads; all threads of a core share its caches",
    );
    let four = GOOD.replacen("0-1", "0-3", 1);
    let rises = four.replacen("capacity = 1024", "threads = 4\nthread_speed = { 2 = 600, 3 = 700 }", 1);
    let e = Platform::from_toml(&rises, "b.toml").unwrap_err().to_string();
    assert!(e.contains("3 busy threads have 700 each, fewer have 600"), "{e}");
    let turns = GOOD.replacen("hz = 250", "hz = 250\none_thread = true", 1);
    let e = Platform::from_toml(&turns.replacen("capacity = 1024", "threads = 2", 1), "b.toml");
    assert!(e.unwrap_err().to_string().contains("together with `one_thread`"));
}

#[test]
fn the_example_of_the_documentation_is_good() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/platform-format.md");
    let text = std::fs::read_to_string(file).unwrap();
    let example = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let p = Platform::from_toml(example, "example").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((p.clusters.len(), p.clusters[0].energy.unit()), (2, "mJ"));
}

#[test]
fn texts_of_a_state_are_no_longer_than_the_kernels() {
    let with = |name: &str, desc: &str| {
        let text = GOOD.replacen("entry_us = 70", &format!("entry_us = 70\ndesc = \"{desc}\""), 1);
        let text = text.replacen("\"off\"", &format!("\"{name}\""), 1);
        Platform::from_toml(&text, "b.toml").map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(with(&"n".repeat(15), &"d".repeat(31)), Ok(()));
    for (name, desc, words) in [
        (
            "n".repeat(90),
            String::new(),
            "state `nnnnnnnnnnnnnnnn`: its `name` has 90 bytes, a kernel's at most 15",
        ),
        ("C6".to_owned(), "d".repeat(32), "state `C6`: its `desc` has 32 bytes, a kernel's at most 31"),
    ] {
        let said = with(&name, &desc).unwrap_err();
        assert!(said.starts_with("b.toml:") && said.contains(words) && said.contains("shorten it"), "{said}");
    }
}

#[test]
fn wrong_keys_and_types() {
    let see = "see docs/reference/platform-format.md";
    says(
        "hz = 250",
        "hertz = 250",
        &format!(
            "b.toml:4: unknown field `hertz`, expected one of `format`, `id`, `name`, `hz`, `hz_note`, `one_cache`, `one_thread`, `notes`, `sources`, `costs`, `battery`, `package`, `limits`, `thermal`, `cluster`; {see}"
        ),
    );
    says(
        "entry_us = 70",
        "entry_ms = 70",
        &format!(
            "b.toml:20: unknown field `entry_ms`, expected one of `name`, `exit_latency_us`, `residency_us`, `entry_us`, `polling`, `disabled`, `entry`, `desc`, `flags`, `measured_wake_ns`, `refill_us`, `transition_us`; {see}"
        ),
    );
    says(
        "hz = 250",
        "hz = \"250\"",
        &format!("b.toml:4: invalid type: string \"250\", expected a whole number; {see}"),
    );
    says(
        "residency_us = 2000",
        "residency_us = 2000.5",
        &format!("b.toml:19: invalid type: floating point `2000.5`, expected a whole number; {see}"),
    );
    says("residency_us = 2000\n", "", &format!("b.toml:16: missing field `residency_us`; {see}"));
    says(
        "cpus = \"0-1\"",
        "cpus = true",
        &format!("b.toml:8: expected CPUs: \"0-3,8\", [0, 1, 2] or \"all\"; {see}"),
    );
}

#[test]
fn numbers_that_make_no_sense() {
    says(
        "exit_latency_us = 230",
        "exit_latency_us = -230",
        "b.toml:18: cluster `all`, state `off`: exit_latency_us is -230, expected us from 0 to 4294967295; correct the number or its unit",
    );
    says(
        "entry_us = 70",
        "entry_us = 700",
        "b.toml:19: cluster `all`: state 1 (off): entry time 700000 ns is longer than the exit latency 230000 ns, which includes it; correct the numbers or their units",
    );
    says(
        "residency_us = 2000",
        "residency_us = 0",
        "b.toml:19: cluster `all`: state 1 (off): target residency 0 ns is below the previous state's 1000 ns; list states from shallow to deep; correct the numbers or their units",
    );
    says(
        "exit_latency_us = 230",
        "exit_latency_us = 4000000000",
        "b.toml:19: cluster `all`: state 1 (off): exit latency of 4000000000000 ns is more than an hour; are the units right?; correct the numbers or their units",
    );
    says(
        "hz = 250",
        "hz = 23",
        "b.toml:4: hz is 23, expected ticks per second from 24 to 1200; correct the number or its unit",
    );
    says(
        "capacity = 1024",
        "capacity = 1025",
        "b.toml:9: capacity is 1025, expected a capacity from 1 to 1024; correct the number or its unit",
    );
    says(
        "format = 1",
        "format = 2",
        "b.toml:1: format is 2, expected 1; this version of idlewise reads no other",
    );
    says(
        "id = \"board\"",
        "id = \"My Board\"",
        "b.toml:2: id is \"My Board\", expected lower-case letters, digits, `-`, `_`, `.`; rename it",
    );
}

#[test]
fn cpus_that_make_no_sense() {
    says("\"0-1\"", "\"0-1,1\"", "b.toml:8: cluster `all`: CPU 1 is twice; each CPU belongs to one cluster");
    says("\"0-1\"", "\"3-1\"", "b.toml:8: cluster `all`: `3-1` runs backwards; correct the list");
    says(
        "\"0-1\"",
        "\"a\"",
        "b.toml:8: cluster `all`: `a` is not a list of CPUs such as \"0-3\" or \"0,2,4-7\"; correct the list",
    );
    says("\"0-1\"", "[0, -1]", "b.toml:8: cluster `all`: CPU numbers run from 0 to 65535; correct the list");
    says("\"0-1\"", "[]", "b.toml:8: cluster `all` has no CPU; list its CPUs");
    says(
        "\"0-1\"",
        "\"all\"",
        "b.toml:8: cluster `all`: \"all\" CPUs without `count`; add `count`: how many to use where nothing else says",
    );
    says(
        "capacity = 1024",
        "count = 4",
        "b.toml:9: cluster `all`: `count` together with a list of CPUs; it belongs to cpus = \"all\" only: remove it",
    );
    let second = format!("{GOOD}\n[[cluster]]\nname = \"b\"\ncpus = [1]\n");
    let error = Platform::from_toml(&second, "b.toml").unwrap_err();
    assert_eq!(
        error.to_string(),
        "b.toml:24: cluster `b`: CPU 1 is in cluster `all` already; each CPU belongs to one cluster"
    );
    let second = second.replace("[1]", "[2]");
    let error = Platform::from_toml(&second, "b.toml").unwrap_err();
    assert_eq!(
        error.to_string(),
        "b.toml:23: cluster `b`: no idle state: at least one is needed; add [[cluster.state]] blocks, shallow to deep"
    );
}

#[test]
fn power_that_makes_no_sense() {
    let power = |block: &str| {
        let head = "\n[cluster.power]\nunit = \"uw\"\nwhat = \"w\"\nsource = \"s\"\n";
        Platform::from_toml(&format!("{GOOD}{head}{block}"), "b.toml").unwrap_err().to_string()
    };
    let row = "curve = [{ khz = 1000, active = 5 }]\n";
    assert_eq!(
        power(&format!("at_khz = 2000\nstates = [3, 0]\n{row}")),
        "b.toml:26: cluster `all`: the curve has no row at 2000 kHz, only at: 1000; see docs/reference/platform-format.md"
    );
    assert_eq!(
        power(&format!("at_khz = 1000\nstates = [3]\n{row}")),
        "b.toml:27: states has 1 powers for 2 idle states; give one per state, shallow to deep"
    );
    assert_eq!(
        power(&format!("at_khz = 1000\nstates = [3, -1]\n{row}")),
        "b.toml:27: states is -1, expected 0 to 1000000000; correct the number or its unit"
    );
    assert_eq!(
        power(&format!("at_khz = 1000\n{row}")),
        "b.toml:26: cluster `all`: no state powers at 1000 kHz: give `states` in the row or in the power block; see docs/reference/platform-format.md"
    );
    assert_eq!(
        power("at_khz = 1000\nstates = [3, 0]\ncurve = [{ khz = 2, active = 1 }, { khz = 2, active = 1 }]"),
        "b.toml:28: curve: 2 kHz after 2 kHz; list the points by rising clock, each once"
    );
}

/// [`GOOD`] ends at line 20; the clock's header is line 22.
fn with_clock(block: &str) -> Result<Platform, idlewise_platform::PlatformError> {
    let head = "\n[cluster.clock]\ninvariant = true\nsource = \"s\"\n";
    Platform::from_toml(&format!("{GOOD}{head}{block}"), "b.toml")
}

const CLOCK: &str = r#"transition_latency_us = 50
points = [
    { khz = 1000, volt_uv = 800000 },
    { khz = 2000, volt_uv = 900000, real_khz = 2500 },
]
"#;

#[test]
fn a_clock_with_everything_comes_back_from_its_own_text() {
    let more = "transition_delay_us = 7\nfast_switch = true\npolicy = \"cpu\"\nup_rate_limit_us = 500\n\
                down_rate_limit_us = 0\ndynamic_power_coefficient = 100\n";
    let p = with_clock(&format!("{more}{CLOCK}")).unwrap_or_else(|e| panic!("{e}"));
    let c = p.clusters[0].clock.as_ref().unwrap();
    assert_eq!((c.transition_latency_ns, c.transition_delay_us), (50_000, Some(7)));
    assert_eq!((c.up_rate_limit_us, c.down_rate_limit_us, c.coefficient), (Some(500), Some(0), Some(100)));
    assert!(c.fast_switch && c.invariant);
    assert_eq!((c.points[1].real_khz, c.points[1].volt_uv), (2500, Some(900_000)));
    assert_eq!(Platform::from_toml(&p.to_toml(), "b.toml").as_ref(), Ok(&p));
    let plain = with_clock(CLOCK).unwrap();
    assert_eq!(Platform::from_toml(&plain.to_toml(), "b.toml").as_ref(), Ok(&plain));
}

#[test]
fn a_battery_comes_back_from_its_own_text_and_must_make_sense() {
    let with = |block: &str| {
        let at = GOOD.find("[[cluster]]").unwrap();
        let (head, rest) = GOOD.split_at(at);
        Platform::from_toml(&format!("{head}[battery]\n{block}\n{rest}"), "b.toml")
    };
    let plain = with("voltage_mv = 3700\nsource = \"s\"").unwrap();
    let b = plain.battery.clone().unwrap();
    assert_eq!((b.voltage_mv, b.base_mw, b.sample_ms, b.step_ua), (3700, None, 176, 156));
    assert_eq!(Platform::from_toml(&plain.to_toml(), "b.toml").as_ref(), Ok(&plain));
    let all = "voltage_mv = 3700\nbase_mw = 0\nsample_ms = 250\nstep_ua = 1000\nsource = \"s\"";
    let p = with(all).unwrap();
    assert_eq!(p.battery.as_ref().map(|b| (b.base_mw, b.sample_ms, b.step_ua)), Some((Some(0), 250, 1000)));
    assert_eq!(Platform::from_toml(&p.to_toml(), "b.toml").as_ref(), Ok(&p));
    for (from, to, words) in [
        ("3700", "3", "battery: voltage_mv is 3, expected mV from 500 to 1000000"),
        ("base_mw = 0", "base_mw = -1", "battery: base_mw is -1, expected mW from 0 to 1000000"),
        ("250", "0", "battery: sample_ms is 0, expected ms from 10 to 60000"),
        ("1000", "0", "battery: step_ua is 0, expected uA from 1 to 1000000"),
        ("source = \"s\"", "", "missing field `source`"),
        ("sample_ms", "sample_us", "unknown field `sample_us`"),
    ] {
        let why = with(&all.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn a_package_comes_back_from_its_own_text_and_must_make_sense() {
    let with = |block: &str| {
        let at = GOOD.find("[[cluster]]").unwrap();
        let (head, rest) = GOOD.split_at(at);
        Platform::from_toml(&format!("{head}[package]\n{block}\n{rest}"), "b.toml")
    };
    let plain = with("awake = 7\nsource = \"s\"").unwrap();
    let from = |p: &Platform| p.package.as_ref().map(|k| (k.awake_uw, k.from(&p.clusters[0].table)));
    assert_eq!(from(&plain), Some((7, 0)));
    assert_eq!(Platform::from_toml(&plain.to_toml(), "b.toml").as_ref(), Ok(&plain));
    let all = "awake = 7\nfrom = \"off\"\nsource = \"s\"";
    let p = with(all).unwrap();
    assert_eq!(from(&p), Some((7, 1)));
    assert_eq!(Platform::from_toml(&p.to_toml(), "b.toml").as_ref(), Ok(&p));
    for (from, to, words) in [
        (
            "\"off\"",
            "\"C9\"",
            "package: from: cluster `all` has no idle state `C9`; name a state that all clusters have",
        ),
        ("awake = 7", "awake = -7", "package: awake is -7, expected a power from 0 to 1000000000"),
        ("source = \"s\"", "", "missing field `source`"),
        ("awake", "asleep", "unknown field `asleep`"),
    ] {
        let why = with(&all.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn clocks_that_make_no_sense() {
    let says = |from: &str, to: &str| {
        assert!(CLOCK.contains(from), "{from}");
        with_clock(&CLOCK.replacen(from, to, 1)).unwrap_err().to_string()
    };
    assert_eq!(
        says("khz = 2000", "khz = 1000"),
        "b.toml:28: cluster `all`: points: 1000 kHz after 1000 kHz; list the points by rising clock, each once"
    );
    assert_eq!(
        says("khz = 1000", "khz = 0"),
        "b.toml:27: khz is 0, expected kHz from 1 to 1000000000; correct the number or its unit"
    );
    assert_eq!(
        says("real_khz = 2500", "real_khz = -1"),
        "b.toml:28: real_khz is -1, expected kHz from 1 to 1000000000; correct the number or its unit"
    );
    assert_eq!(
        says("volt_uv = 800000", "volt_uv = 800"),
        "b.toml:27: volt_uv is 800, expected uV from 100000 to 5000000; correct the number or its unit"
    );
    assert_eq!(
        says(", volt_uv = 800000", ""),
        "b.toml:22: cluster `all`: 1 of 2 points have volt_uv; give it for all points or for none"
    );
    assert_eq!(
        says("transition_latency_us = 50", "transition_latency_us = 2000000"),
        "b.toml:25: transition_latency_us is 2000000, expected us from 0 to 1000000; correct the number or its unit"
    );
    assert_eq!(
        says("transition_latency_us = 50", "transition_latency_us = 50\npolicy = \"socket\""),
        "b.toml:26: cluster `all`: policy is `socket`, expected `cluster` or `cpu`; see docs/reference/platform-format.md"
    );
    assert_eq!(
        with_clock("transition_latency_us = 50").unwrap_err().to_string(),
        "b.toml:22: cluster `all`: the clock has no points; list them in `points`, or give a power curve whose rows they are"
    );
    assert_eq!(
        with_clock(CLOCK.split("points").next().unwrap()).map(|_| ()).unwrap_err().to_string(),
        with_clock("transition_latency_us = 50").unwrap_err().to_string()
    );
    assert_eq!(
        with_clock("transition_latency_us = 50\npoints = []").unwrap_err().to_string(),
        "b.toml:26: cluster `all`: the clock has no points; list them in `points`, or give a power curve whose rows they are"
    );
    assert!(says("transition_latency_us = 50", "").contains("missing field `transition_latency_us`"));
    let power =
        "[cluster.power]\nunit = \"uw\"\nwhat = \"w\"\nsource = \"s\"\nat_khz = 1000\nstates = [3, 0]\n";
    assert_eq!(
        with_clock(&format!("{CLOCK}{power}curve = [{{ khz = 1000, active = 5 }}]\n"))
            .unwrap_err()
            .to_string(),
        "b.toml:28: cluster `all`: points: 2000 kHz is no row of the power curve; each point needs its power: add the row or remove the point"
    );
}

#[test]
fn odd_clocks_are_pointed_out() {
    let texts = |text: &str| {
        let p = with_clock(text).unwrap();
        p.check()
            .into_iter()
            .map(|f| format!("{:?} {}: {}", f.severity, f.place, f.message))
            .collect::<Vec<_>>()
    };
    let estimated = "Note all, clock: no power is published: running is estimated as f V^2, sleeping as V^2";
    let sources = "Note board: no `sources`: say where the numbers come from";
    assert_eq!(texts(CLOCK), [sources, estimated]);
    assert_eq!(
        texts(&CLOCK.replace("real_khz = 2500", "real_khz = 900").replace("khz = 1000", "khz = 1")),
        [
            sources,
            "Warning all, clock: the capacity at 1 kHz rounds to 0",
            "Warning all, clock: sleeping draws more than running at 1 kHz",
            estimated,
        ]
    );
    assert_eq!(
        texts(&CLOCK.replace("real_khz = 2500", "real_khz = 900"))[1],
        "Warning all, clock: 2000 kHz is no faster than 1000 kHz (real_khz)"
    );
}

#[test]
fn a_file_that_is_no_platform() {
    let says = |text: &str| Platform::from_toml(text, "b.toml").unwrap_err().to_string();
    let see = "see docs/reference/platform-format.md";
    assert_eq!(says(""), format!("b.toml:1: the file is empty; {see}"));
    assert_eq!(says(" \n\n"), format!("b.toml:1: the file is empty; {see}"));
    let bracket = "unquoted keys cannot be empty, expected letters, numbers, `-`, `_`";
    assert_eq!(says("x = 1\n[[["), format!("b.toml:2: {bracket}; {see}"));
    assert!(says("\u{0}\u{1}\u{7f}ELF").starts_with("b.toml:1: "));
    assert_eq!(
        says("format = 1\nid = \"x\"\nname = \"X\"\n"),
        "b.toml:1: no [[cluster]]: a platform needs at least one; add one with its CPUs and [[cluster.state]] blocks"
    );
}

#[test]
fn a_damaged_file_never_panics() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below.max(1) as u64) as usize
    };
    let clocked = format!("{GOOD}\n[cluster.clock]\ninvariant = true\nsource = \"s\"\n{CLOCK}");
    let texts: Vec<&str> = shipped().iter().map(|(_, t)| *t).chain([GOOD, &clocked]).collect();
    let junk =
        [b"-1".as_slice(), b"99999999999999999999", b"\"", b"[", b"]]", b"\0", b"=", b"1e9", b"\n", b"all"];
    for _ in 0..3000 {
        let mut bytes = texts[next(texts.len())].as_bytes().to_vec();
        for _ in 0..=next(3) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes.truncate(at),
                1 => bytes[at] = next(256) as u8,
                _ => drop(bytes.splice(at..at, junk[next(junk.len())].iter().copied())),
            }
            if bytes.is_empty() {
                break;
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        match Platform::from_toml(&text, "b.toml") {
            Ok(p) => {
                let _ = p.check();
                assert_eq!(Platform::from_toml(&p.to_toml(), "b.toml").as_ref(), Ok(&p));
            }
            Err(e) => assert!(e.to_string().starts_with("b.toml:"), "{e}"),
        }
    }
}

#[test]
fn limits_turbo_levels_and_temperature_come_back_from_their_own_text_and_must_make_sense() {
    const ALL: &str = r#"
format = 1
id = "b"
name = "B"
[package]
awake = 900
always = 7
each_awake = 3
level = [{ from = "idle", power = 500 }, { from = "off", power = 20 }]
source = "s"
[limits]
pl1 = { power = 6000000, window_us = 28000000, clamp = true }
pl2 = { power = 12000000, window_us = 976, clamp = false }
step_us = 500
source = "s"
[thermal]
ambient_mc = 25000
resistance_mk_per_w = 6000
capacity_mj_per_k = 150
trip_mc = 95000
leakage = { power = 300, at_mc = 60000, doubles_mk = 20000 }
source = "s"
[[cluster]]
name = "all"
cpus = "0-3"
[[cluster.state]]
name = "idle"
exit_latency_us = 1
residency_us = 1
[[cluster.state]]
name = "off"
exit_latency_us = 100
residency_us = 300
[cluster.clock]
transition_latency_us = 0
invariant = true
base_khz = 1500
turbo = [{ cores = 1, khz = 2000 }, { cores = 4, khz = 1000 }]
inactive_from = "off"
source = "s"
points = [{ khz = 1000 }, { khz = 2000 }]
"#;
    let p = Platform::from_toml(ALL, "b.toml").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(Platform::from_toml(&p.to_toml(), "b.toml").as_ref(), Ok(&p));
    let package = p.package.as_ref().unwrap();
    assert_eq!((package.powers_uw(), package.deepest_uw()), (vec![907, 507, 27], 27));
    assert_eq!(package.level_states(&p.clusters[0].table), [0, 1]);
    let limits = p.limits.as_ref().unwrap();
    assert_eq!(limits.limits.pl2.map(|l| (l.window_ns, l.clamp)), Some((976_000, false)));
    assert_eq!(p.thermal.as_ref().unwrap().heat.window_ns, 900_000_000);
    for (from, to, words) in [
        ("power = 500 }", "power = 901 }", "package: level: power 901 above 900"),
        ("from = \"idle\", power = 500", "from = \"off\", power = 500", "level from `off` after one as deep"),
        ("from = \"off\", power", "from = \"C9\", power", "cluster `all` has no idle state `C9`"),
        ("always = 7", "from = \"off\"", "package: `from` together with levels"),
        ("window_us = 976", "window_us = 0", "limits: pl2: window_us is 0, expected us from 1"),
        ("power = 6000000", "power = 0", "limits: pl1: power is 0, expected uW from 1"),
        ("step_us = 500", "step_us = 0", "limits: step_us is 0, expected us from 1 to 1000000"),
        (", clamp = false", "", "missing field `clamp`"),
        ("pl2 =", "pl3 =", "unknown field `pl3`"),
        (
            "trip_mc = 95000",
            "trip_mc = 25000",
            "thermal: trip_mc is 25000, expected thousandths of a degree C from 25001",
        ),
        ("doubles_mk = 20000", "doubles_mk = 0", "thermal: leakage: doubles_mk is 0, expected mK from 1000"),
        ("resistance_mk_per_w = 6000", "resistance_mk_per_w = 0", "thermal: resistance_mk_per_w is 0"),
        (
            "khz = 2000 }, { cores = 4, khz = 1000",
            "khz = 1000 }, { cores = 4, khz = 2000",
            "more cores have no higher clock",
        ),
        ("inactive_from = \"off\"", "inactive_from = \"C9\"", "inactive_from: there is no idle state `C9`"),
        ("base_khz = 1500", "base_khz = 0", "base_khz is 0, expected kHz from 1"),
        ("base_khz = 1500", "base_khz = 999", "base_khz is 999, expected kHz from 1000"),
        ("cores = 4, khz = 1000", "cores = 4, khz = 999", "turbo: khz is 999, expected kHz from 1000"),
    ] {
        assert!(ALL.contains(from), "{from}");
        let why = Platform::from_toml(&ALL.replacen(from, to, 1), "b.toml").unwrap_err().to_string();
        assert!(why.contains(words), "{from} > {to}: {why}");
    }
    let (head, rest) = ALL.split_once("[package]").unwrap();
    let without = format!("{head}[limits]{}", rest.split_once("[limits]").unwrap().1);
    let why = Platform::from_toml(&without, "b.toml").unwrap_err().to_string();
    assert!(why.contains("thermal: leakage without a [package]"), "{why}");
}

#[test]
fn polling_draws_its_part_of_running_at_each_clock() {
    let with = |polling: &str| {
        let text = format!(
            "format = 1\nid = \"b\"\nname = \"B\"\n[[cluster]]\nname = \"all\"\ncpus = \"0-3\"\n[[cluster.state]]\n\
             name = \"POLL\"\nexit_latency_us = 0\nresidency_us = 0\npolling = true\n[[cluster.state]]\nname = \"C1\"\n\
             exit_latency_us = 1\nresidency_us = 1\n[cluster.clock]\ntransition_latency_us = 0\ninvariant = true\n\
             source = \"s\"\n[cluster.power]\nunit = \"uw\"\nwhat = \"w\"\nsource = \"s\"\nat_khz = 1000\n{polling}\n\
             curve = [{{ khz = 1000, active = 500, states = [500, 7] }}, {{ khz = 2000, active = 900, states = [500, 7] }}]\n"
        );
        Platform::from_toml(&text, "b.toml")
    };
    let polls = |p: &Platform| {
        let points = &p.clusters[0].clock.as_ref().unwrap().points;
        points.iter().map(|p| p.energy.states[0].power_uw).collect::<Vec<_>>()
    };
    assert_eq!(polls(&with("").unwrap()), [500, 900]);
    let some = with("polling = 400").unwrap();
    assert_eq!(polls(&some), [200, 360]);
    assert_eq!(Platform::from_toml(&some.to_toml(), "b.toml").as_ref(), Ok(&some));
    let why = with("polling = 1001").unwrap_err().to_string();
    assert!(why.contains("polling is 1001, expected thousandths from 0 to 1000"), "{why}");
}
