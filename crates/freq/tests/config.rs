// SPDX-License-Identifier: GPL-2.0-only
//! Are governors and their parameters found by name, and mistakes explained?

use idlewise_freq::{Config, Driver, Limits, ParamDefault, ParamKind, Policy, Setup, Steps, Table, list};

use crate::common;

#[test]
fn every_governor_is_found_by_its_name_and_prints_as_it_was_written() {
    let ids: Vec<&str> = list().iter().map(|g| g.id).collect();
    let asked = [
        "schedutil",
        "schedutil-6.1",
        "schedutil-4.8",
        "schedutil-android-4.4",
        "sched-pixel",
        "sched-freq",
        "sched-freq-4.4",
        "ondemand",
        "conservative",
        "interactive",
        "hwp-ewma",
        "hwp-window",
        "performance",
        "powersave",
        "fixed",
    ];
    assert_eq!(ids, asked);
    for text in [
        "schedutil",
        "schedutil-6.1:rate_limit_us=500",
        "fixed:khz=1000",
        "ondemand:up_threshold=80,io_is_busy=1",
        "interactive:target_loads=85 1500000:90",
    ] {
        assert_eq!(text.parse::<Config>().unwrap().to_string(), text);
    }
    let spaced: Config = " ondemand : up_threshold = 80 ".parse().unwrap();
    assert_eq!(spaced.to_string(), "ondemand:up_threshold=80");
}

#[test]
fn every_default_is_a_value_that_may_be_given_and_every_bound_too() {
    for governor in list() {
        for p in governor.params {
            let (min, max) = match p.kind {
                ParamKind::Number { min, max } | ParamKind::Steps { min, max } => (min, max),
            };
            let refused = |n: u64| {
                let said = format!("{}:{}={n}", governor.id, p.name).parse::<Config>();
                matches!(said, Err(idlewise_freq::FreqError::BadValue { .. }))
            };
            if let ParamDefault::Number(n) = p.default {
                assert!((min..=max).contains(&n), "{} {}", governor.id, p.name);
            }
            assert!(!refused(min) && !refused(max), "{} {}", governor.id, p.name);
            assert!(refused(max + 1) && (min == 0 || refused(min - 1)), "{} {}", governor.id, p.name);
        }
    }
}

#[test]
fn a_mistake_is_answered_with_what_there_is() {
    for (text, words) in [
        ("", "the id is missing"),
        ("shedutil", "did you mean `schedutil`?"),
        ("xyzxyzxyz", "there are: schedutil, schedutil-6.1"),
        ("ondemand:", "a parameter without `=`"),
        ("ondemand:up_threshold", "a parameter without `=`"),
        ("ondemand:=5", "without name or value"),
        ("ondemand:up_threshold=", "without name or value"),
        ("ondemand:up_threshold=80,up_threshold=81", "twice"),
        ("ondemand:up_treshold=80", "did you mean `up_threshold`?"),
        ("performance:a=1", "it has none"),
        ("ondemand:up_threshold=101", "must be a whole number from 1 to 100 %"),
        ("ondemand:up_threshold=-1", "must be a whole number"),
        ("ondemand:up_threshold=+5", "must be a whole number"),
        ("fixed", "write `fixed:khz=...`"),
        ("conservative:up_threshold=20", "must be above down_threshold=20"),
        ("interactive:target_loads=85 1500000", "clocks ascending"),
        ("interactive:target_loads=85 1500000:101", "values from 1 to 100 %"),
        ("interactive:target_loads=85 2:90 1:90", "clocks ascending"),
    ] {
        let said = text.parse::<Config>().unwrap_err().to_string();
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn a_step_function_holds_from_each_clock_on() {
    let steps = Steps::parse("85 1500000:90 1800000:99", 1, 100).unwrap();
    let at = [0, 1_499_999, 1_500_000, 1_799_999, 1_800_000, u32::MAX].map(|khz| steps.at(khz));
    assert_eq!(at, [85, 85, 90, 90, 99, 99]);
    assert_eq!(Steps::parse("85:1500000:90", 1, 100).unwrap().at(1_500_000), 90);
    assert_eq!(Steps::parse("85", 1, 100), Some(Steps::constant(85)));
}

#[test]
fn the_steady_governors_stay_where_they_should() {
    use common::{BIG, MS, Said, policy, settle, setup, slow};
    let at = |governor: &str, min_khz, max_khz| {
        let mut p = policy(setup(1, &BIG, slow(MS)), governor);
        let _ = p.start(0, &Said::util(0));
        let first = settle(&mut p, &Said::util(0));
        let _ = p.set_limits(Limits { min_khz, max_khz }, 5 * MS);
        (first / 1000, settle(&mut p, &Said::util(0)) / 1000)
    };
    assert_eq!(at("performance", 0, 1_200_000), (2802, 1106));
    assert_eq!(at("powersave", 600_000, u32::MAX), (500, 984));
    assert_eq!(at("fixed:khz=1000000", 0, 990_000), (1106, 984));
    assert_eq!(at("fixed:khz=1000000", 1_200_000, u32::MAX), (1106, 1277));
    assert_eq!(at("fixed:khz=0", 0, u32::MAX), (500, 500));

    let mut p = policy(setup(1, &BIG, slow(MS)), "fixed:khz=500000");
    let _ = p.start(0, &Said::util(0));
    let _ = p.set_speed(1_277_000, MS);
    assert_eq!(settle(&mut p, &Said::util(0)), 1_277_000);
    let mut p = policy(setup(1, &BIG, slow(MS)), "performance");
    assert_eq!(p.set_speed(500_000, MS), Default::default());
}

#[test]
fn a_setup_that_makes_no_sense_is_refused_with_the_reason() {
    use common::{BIG, fast, setup};
    use idlewise_freq::{Policy, Setup};
    let refused = |change: fn(&mut Setup)| {
        let mut s = setup(2, &BIG, fast());
        change(&mut s);
        Policy::new(s, &"schedutil".parse().unwrap()).unwrap_err().to_string()
    };
    assert!(refused(|s| s.cpus.clear()).contains("needs CPUs"));
    assert!(refused(|s| s.cpus = vec![1, 0, 1]).contains("each once"));
    assert!(refused(|s| s.start_khz = 7).contains("there are: 500000"));
    assert!(refused(|s| s.tick_ns = 0).contains("tick of 0 ns"));
}

#[test]
fn a_policy_is_made_for_every_governor_of_the_list() {
    for info in list() {
        let required = if info.id == "fixed" { ":khz=500000" } else { "" };
        let config: Config = format!("{}{required}", info.id).parse().unwrap();
        let setup = Setup {
            cpus: vec![0],
            table: Table::new(common::BIG.to_vec()).unwrap(),
            limits: Limits::NONE,
            start_khz: common::BIG[0],
            driver: Driver::default(),
            tick_ns: 4 * common::MS,
        };
        assert!(Policy::new(setup, &config).is_ok(), "{}", info.id);
    }
}
