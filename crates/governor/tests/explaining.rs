// SPDX-License-Identifier: GPL-2.0-only
//! Does a copy that explains itself decide the same, say why, and show what it remembers?

use crate::life;

use idlewise_governor::{Inputs, Instance, Spec, Value, Variable, catalog};
use idlewise_model::NO_LATENCY_LIMIT_NS;
use life::{TICK_NS, live, live_all, load, story, tables};

#[test]
fn an_explaining_governor_gives_a_few_reasons_for_every_decision_and_decides_the_same() {
    let table = &tables()[5];
    for info in catalog() {
        let story = story(67, 2000);
        let mut quiet = load(info.id);
        let slot = quiet.add_cpu(0, table, 1024).unwrap();
        let expected = live_all(&mut quiet, slot, &story);
        assert!(quiet.take_messages().is_empty(), "{}", info.id);

        let mut explaining = Instance::load_explaining(&Spec::new(info.id), TICK_NS).unwrap();
        let slot = explaining.add_cpu(0, table, 1024).unwrap();
        for (step, expected) in story.iter().zip(expected) {
            assert_eq!(live(&mut explaining, slot, step), expected, "{}", info.id);
            let reasons = explaining.take_messages();
            // Disabled states are named, and a step may disable all nine.
            let few = reasons.iter().filter(|r| !r.contains("disabled")).count();
            assert!(!reasons.is_empty() && few <= 16, "{}: {reasons:#?}", info.id);
            assert!(reasons.iter().all(|r| !r.trim().is_empty() && !r.ends_with('.')), "{reasons:#?}");
        }
    }
}

/// The member `path`, such as `bins.bin.1.hits`, of a variable.
fn member<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(value, |value, step| match value {
        Value::Struct(members) => &members.iter().find(|m| m.name == step).unwrap().value,
        Value::Array(elements) => &elements[step.parse::<usize>().unwrap()],
        _ => panic!("{path}: nothing below {step}"),
    })
}

#[test]
fn memory_is_read_by_the_names_of_the_source() {
    let mut teo = Instance::load_explaining(&Spec::new("teo-util"), TICK_NS).unwrap();
    let slots = [0, 1].map(|cpu| teo.add_cpu(cpu, &tables()[4], 1024).unwrap());
    let inputs = Inputs {
        sleep_length_ns: 1_000_000,
        delta_tick_ns: 1_000_000,
        latency_limit_ns: NO_LATENCY_LIMIT_NS,
        util: 900,
        ..Inputs::default()
    };
    for now_ns in [0, 20_000_000] {
        teo.select(slots[1], &Inputs { now_ns, ..inputs });
        teo.device(slots[1]).last_residency_ns = 10_000;
        teo.reflect(slots[1], 0, now_ns + 10_000);
    }
    let [idle, used] = slots.map(|slot| teo.memory(slot));
    let names: Vec<&str> = used.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["teo_util_cpus"]);
    let read = |memory: &[Variable], path: &str| member(&memory[0].value, path).clone();
    assert_eq!(read(&used, "threshold"), Value::Number(16));
    assert_eq!(read(&used, "utilised"), Value::Bool(true));
    assert_eq!(read(&used, "bins.sleep_length_ns"), Value::Number(1_000_000));
    assert_eq!(read(&used, "bins.bin.0.intercepts"), Value::Number(1024));
    assert_eq!(read(&used, "bins.recent_bin.1"), Value::Number(0));
    assert_eq!(read(&idle, "bins.bin.0.intercepts"), Value::Number(0));
    assert_eq!(read(&idle, "bins.recent_bin.1"), Value::Number(-1));
    let plain = Instance::load(&Spec::new("teo-util"), TICK_NS);
    assert!(plain.unwrap().memory(slots[0]).is_empty());
}

#[test]
fn the_reasons_of_the_teos_end_at_the_state_chosen() {
    for id in ["teo", "teo-6.1", "teo-6.6", "teo-fixed", "teo-util", "teo-util-v1"] {
        for table in &tables() {
            let mut governor = Instance::load_explaining(&Spec::new(id), TICK_NS).unwrap();
            let slot = governor.add_cpu(0, table, 1024).unwrap();
            for step in story(53, 500) {
                let choice = live(&mut governor, slot, &step);
                let said = governor.take_messages();
                let last = said.iter().rev().find_map(|m| {
                    let after = m.rsplit_once("state ")?.1;
                    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
                });
                assert_eq!(last, Some(choice.index), "{id}: {said:#?}");
                assert!(said.len() < 20, "{id}: {said:#?}");
            }
        }
    }
}
