// SPDX-License-Identifier: GPL-2.0-only
//! Do parameters do what they say, and nothing outside their ranges?

use crate::life;

use idlewise_governor::{Choice, Inputs, Instance, Spec, catalog};
use idlewise_model::IdleTable;
use life::{Step, TICK_NS, live, live_all, load, story, table, tables};

/// Specs of what a parameter can do to arithmetic and array bounds, beyond the defaults.
const TUNED: [&str; 16] = [
    "haltpoll:guest_halt_poll_ns=0,guest_halt_poll_grow_start=4294967295",
    "haltpoll:guest_halt_poll_ns=4294967295,guest_halt_poll_grow=4294967295,guest_halt_poll_shrink=0",
    "menu:intervals=1,decay_shift=0,interesting_ns=0,residency_threshold_ns=0",
    "menu:intervals=64,decay_shift=10,interesting_ns=1000000000,residency_threshold_ns=1000000000",
    "menu:no_pattern=1",
    "menu-6.1:no_pattern=2,intervals=2",
    "menu-6.1:intervals=1,decay_shift=0,interesting_ns=0",
    "menu-6.1:intervals=64,decay_shift=10,interesting_ns=1000000000",
    "teo-5.6:intervals=1,decay_shift=0",
    "teo-5.6:intervals=64,decay_shift=10",
    "teo-weighted:posted_ring=1,learning_rate=50,own_weight=10000,other_weight=10000",
    "teo-weighted:posted_ring=1,intervals=64,draw=1,learning_rate=0",
    "teo-weighted:posted_ring=1,draw=2,seed=7,intervals=1",
    "teo-weighted:draw=2,own_weight=0,other_weight=0",
    "teo-weighted:draw=2",
    "teo-weighted:seed=4294967295",
];

#[test]
fn the_choice_is_a_state_that_exists_whatever_the_parameters() {
    for spec in TUNED {
        for (t, table) in tables().iter().enumerate() {
            let mut governor = Instance::load(&spec.parse().unwrap(), TICK_NS).unwrap();
            let slot = governor.add_cpu(0, table, 1024).unwrap();
            for (i, step) in story(43, 2000).iter().enumerate() {
                let index = live(&mut governor, slot, step).index;
                let exists = usize::try_from(index).is_ok_and(|x| x < table.len());
                assert!(exists, "{spec}: table {t}, step {i}: state {index}");
            }
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused_with_the_range() {
    for (spec, words) in [
        ("menu:intervals=0", "intervals=0 is out of range: it must be from 1 to 64"),
        ("menu:intervals=65", "intervals=65 is out of range: it must be from 1 to 64"),
        ("menu:decay_shift=11", "decay_shift=11 is out of range: it must be from 0 to 10"),
        (
            "menu:residency_threshold_ns=1000000001",
            "residency_threshold_ns=1000000001 is out of range: it must be from 0 to 1000000000",
        ),
        (
            "menu-6.1:interesting_ns=4294967295",
            "interesting_ns=4294967295 is out of range: it must be from 0 to 1000000000",
        ),
        ("menu:no_pattern=3", "no_pattern=3 is out of range: it must be from 0 to 2"),
        (
            "menu:long_work_ns=1000000001",
            "long_work_ns=1000000001 is out of range: it must be from 0 to 1000000000",
        ),
        ("teo-5.6:intervals=0", "intervals=0 is out of range: it must be from 1 to 64"),
        ("teo-5.6:decay_shift=32", "decay_shift=32 is out of range: it must be from 0 to 10"),
        ("teo-weighted:intervals=65", "intervals=65 is out of range: it must be from 1 to 64"),
        ("teo-weighted:draw=3", "draw=3 is out of range: it must be from 0 to 2"),
        ("teo-weighted:learning_rate=51", "learning_rate=51 is out of range: it must be from 0 to 50"),
        ("teo-weighted:own_weight=10001", "own_weight=10001 is out of range: it must be from 0 to 10000"),
        ("teo-weighted:other_weight=10001", "other_weight=10001 is out of range: it must be from 0 to 10000"),
    ] {
        let refused = Instance::load(&spec.parse().unwrap(), TICK_NS).err();
        let said = refused.map_or_else(String::new, |e| e.to_string());
        assert!(said.contains("error -22") && said.contains(words), "{spec}: {said}");
    }
}

#[test]
fn a_constant_given_as_parameter_is_the_constant() {
    let table = &tables()[5];
    let story = story(53, 5000);
    let choices = |spec: &str| {
        let mut governor = Instance::load(&spec.parse().unwrap(), TICK_NS).unwrap();
        let slot = governor.add_cpu(0, table, 1024).unwrap();
        live_all(&mut governor, slot, &story)
    };
    for (id, more) in
        [("menu", ",residency_threshold_ns=15000"), ("menu-6.1", ""), ("teo-5.6", ""), ("teo-weighted", "")]
    {
        let plain = choices(id);
        let menu = if id.starts_with("menu") { ",interesting_ns=50000000" } else { "" };
        assert!(choices(&format!("{id}:intervals=8,decay_shift=3{menu}{more}")) == plain, "{id}");
        let irregular =
            if id.starts_with("menu") { ["no_pattern=1", "no_pattern=2"].as_slice() } else { &[] };
        for other in ["intervals=3", "decay_shift=1"].iter().chain(irregular) {
            assert!(choices(&format!("{id}:{other}")) != plain, "{id}: {other} changes nothing");
        }
    }
    // After any work at all nothing is expected; without the parameter, however long it was.
    let [irregular, always, never] =
        ["", ",long_work_ns=1", ",long_work_ns=0"].map(|more| choices(&format!("menu:no_pattern=1{more}")));
    assert!(never == irregular);
    assert!(always != irregular);
}

#[test]
fn a_seed_takes_the_place_of_the_random_numbers_of_the_environment() {
    let table = &tables()[5];
    let first = story(59, 3000);
    let mut second = first.clone();
    second.iter_mut().for_each(|step| step.inputs.random = !step.inputs.random);
    let choices = |spec: &str, story: &[Step]| {
        let mut governor = Instance::load(&spec.parse().unwrap(), TICK_NS).unwrap();
        let slot = governor.add_cpu(0, table, 1024).unwrap();
        live_all(&mut governor, slot, story)
    };
    assert!(choices("teo-weighted:draw=2", &first) != choices("teo-weighted:draw=2", &second));
    let one = choices("teo-weighted:draw=2,seed=1", &first);
    assert!(one == choices("teo-weighted:draw=2,seed=1", &second));
    assert!(one != choices("teo-weighted:draw=2,seed=2", &first));
}

#[test]
fn a_draw_as_meant_is_enabled_and_never_deeper_than_the_choice() {
    let table = &tables()[5];
    // Without weights for other states the row's own state is all that can be drawn.
    let undrawn = "teo-weighted:draw=2,learning_rate=0,own_weight=1,other_weight=0";
    let mut drawn = Instance::load(&"teo-weighted:draw=2".parse().unwrap(), TICK_NS).unwrap();
    let mut plain = Instance::load(&undrawn.parse().unwrap(), TICK_NS).unwrap();
    let mut teo = load("teo-5.6");
    let slots = [&mut drawn, &mut plain, &mut teo].map(|g| g.add_cpu(0, table, 1024).unwrap());
    for step in story(61, 5000) {
        let [meant, undrawn, teo] = [&mut drawn, &mut plain, &mut teo].map(|governor| {
            governor.set_disabled(slots[0], step.disabled);
            let choice = governor.select(slots[0], &step.inputs);
            governor.device(slots[0]).last_residency_ns = step.stay_ns;
            governor.reflect(slots[0], 2, step.inputs.now_ns.wrapping_add_signed(step.stay_ns));
            choice.index
        });
        assert_eq!(undrawn, teo);
        assert!(meant <= teo);
        let enabled = step.disabled >> meant & 1 == 0 || step.disabled & 0x1ff == 0x1ff;
        assert!(enabled, "state {meant} with {:#b} disabled", step.disabled);
    }
}

#[test]
fn every_parameter_is_described() {
    for info in catalog() {
        for p in load(info.id).params() {
            assert!(!p.description.is_empty(), "{}: MODULE_PARM_DESC({}) is missing", info.id, p.name);
            let spec = Spec { id: info.id.to_owned(), params: vec![(p.name.clone(), p.value.clone())] };
            assert!(Instance::load(&spec, TICK_NS).is_ok(), "{spec}: its own default is refused");
        }
    }
}

fn refused(text: &str) -> String {
    let spec: Spec = text.parse().unwrap();
    Instance::load(&spec, TICK_NS).err().map_or_else(String::new, |e| e.to_string())
}

#[test]
fn a_parameter_out_of_range_is_refused_with_its_range() {
    let decay = ["teo", "teo-6.1", "teo-6.6", "teo-fixed", "teo-util", "teo-util-v1"];
    let recent = ["teo-6.1", "teo-6.6", "teo-fixed", "teo-util", "teo-util-v1"];
    let util = ["teo-6.6", "teo-fixed", "teo-util", "teo-util-v1"];
    let residency = ["teo", "teo-6.6", "teo-fixed"];
    for (ids, name, lowest, highest) in [
        (&decay[..], "decay_shift", 0, 10),
        (&recent[..], "nr_recent", 1, 32),
        (&util[..], "util_threshold_shift", 0, 11),
        (&residency[..], "residency_threshold_ns", 0, 1_000_000),
        (&["teo"][..], "latency_threshold_ns", 0, 1_000_000),
        (&["teo-fixed"][..], "higher_util_shift", 0, 11),
        (&["teo-fixed"][..], "higher_util_min", 0, 1024),
        (&["teo-fixed"][..], "tick_margin_ns", 0, 100_000_000),
    ] {
        for id in ids {
            for value in [lowest, highest] {
                assert_eq!(refused(&format!("{id}:{name}={value}")), "");
            }
            for value in [lowest - 1, highest + 1].into_iter().filter(|v| *v >= 0) {
                let said = refused(&format!("{id}:{name}={value}"));
                let why = format!("{name}={value} is out of range: it must be from {lowest} to {highest}");
                assert!(said.contains(&why), "{id}: {said}");
            }
        }
    }
}

#[test]
fn the_choice_exists_at_the_ends_of_the_ranges() {
    for text in [
        "teo:decay_shift=0,residency_threshold_ns=0,latency_threshold_ns=0",
        "teo:decay_shift=10,residency_threshold_ns=1000000,latency_threshold_ns=1000000",
        "teo-6.1:decay_shift=0,nr_recent=1",
        "teo-6.1:decay_shift=10,nr_recent=32",
        "teo-6.6:decay_shift=0,nr_recent=1,util_threshold_shift=0,residency_threshold_ns=0",
        "teo-6.6:decay_shift=10,nr_recent=32,util_threshold_shift=11,residency_threshold_ns=1000000",
        "teo-fixed:decay_shift=0,no_recent_intercepts=0,nr_recent=1,higher_util_shift=11,higher_util_min=0",
        "teo-fixed:decay_shift=10,no_recent_intercepts=0,nr_recent=32,tick_margin_ns=0",
        "teo-util-v1:update_utilised=1,util_threshold_shift=11",
    ] {
        for table in &tables() {
            let mut governor = Instance::load(&text.parse().unwrap(), TICK_NS).unwrap();
            let slot = governor.add_cpu(0, table, 1024).unwrap();
            for choice in live_all(&mut governor, slot, &story(43, 2000)) {
                assert!(usize::try_from(choice.index).is_ok_and(|x| x < table.len()), "{text}: {choice:?}");
            }
        }
    }
}

/// Choices over all tables.
fn choices(text: &str) -> Vec<Vec<Choice>> {
    let run = |table: &IdleTable| {
        let mut governor = Instance::load(&text.parse().unwrap(), TICK_NS).unwrap();
        let slot = governor.add_cpu(0, table, 1024).unwrap();
        live_all(&mut governor, slot, &story(47, 3000))
    };
    tables().iter().map(run).collect()
}

#[test]
fn every_parameter_of_the_teos_changes_something() {
    for (id, changes) in [
        ("teo", &["decay_shift=1", "residency_threshold_ns=100000", "latency_threshold_ns=8001"][..]),
        ("teo-6.1", &["decay_shift=1", "nr_recent=2"]),
        ("teo-util", &["decay_shift=1", "nr_recent=2", "util_threshold_shift=2", "util_steps=2"]),
        ("teo-util-v1", &["decay_shift=1", "util_threshold_shift=2", "update_utilised=1"]),
        (
            "teo-6.6",
            &["decay_shift=1", "nr_recent=2", "util_threshold_shift=2", "residency_threshold_ns=100000"],
        ),
        (
            "teo-fixed",
            &[
                "higher_util_threshold=0",
                "keep_tick_utilised=0",
                "stop_tick_one_state=0",
                "tick_margin=0",
                "no_recent_intercepts=0",
                "no_fake_intercepts=0",
                "higher_util_shift=1",
                "higher_util_min=700",
                "tick_margin_ns=100000",
                "decay_shift=1",
                "residency_threshold_ns=100000",
            ],
        ),
    ] {
        let default = choices(id);
        for change in changes {
            assert!(choices(&format!("{id}:{change}")) != default, "{id}:{change} changes nothing");
        }
    }
}

#[test]
fn each_patch_alone_changes_teo_6_6() {
    const PATCHES: [&str; 6] = [
        "higher_util_threshold",
        "keep_tick_utilised",
        "stop_tick_one_state",
        "tick_margin",
        "no_recent_intercepts",
        "no_fake_intercepts",
    ];
    let with = |on: Option<usize>| {
        let set: Vec<String> =
            (0..).zip(PATCHES).map(|(i, p)| format!("{p}={}", u8::from(Some(i) == on))).collect();
        choices(&format!("teo-fixed:{}", set.join(",")))
    };
    let none = with(None);
    assert!(none == choices("teo-6.6"));
    for (i, patch) in PATCHES.iter().enumerate() {
        assert!(with(Some(i)) != none, "{patch} alone changes nothing");
    }
}

#[test]
fn at_the_very_threshold_the_timers_are_asked() {
    let table = table(&[(0, 0), (1, 20)]);
    let asks = |text: &str| {
        let mut governor = Instance::load(&text.parse().unwrap(), TICK_NS).unwrap();
        let slot = governor.add_cpu(0, &table, 1024).unwrap();
        governor.device(slot).last_residency_ns = 1_000_000_000;
        let inputs = Inputs {
            sleep_length_ns: 50_000,
            delta_tick_ns: 50_000,
            latency_limit_ns: 1000,
            ..Inputs::default()
        };
        let choice = governor.select(slot, &inputs);
        assert_eq!(choice.index, 1, "{text}");
        choice.asked_sleep_length
    };
    for id in ["teo", "teo-6.6", "teo-fixed"] {
        assert!(asks(&format!("{id}:residency_threshold_ns=20000")), "{id}");
        assert!(!asks(&format!("{id}:residency_threshold_ns=20001")), "{id}");
    }
    assert!(asks("teo:residency_threshold_ns=20001,latency_threshold_ns=1000"));
    assert!(!asks("teo:residency_threshold_ns=20001,latency_threshold_ns=1001"));
}
