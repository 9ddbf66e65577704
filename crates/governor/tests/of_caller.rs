// SPDX-License-Identifier: GPL-2.0-only
//! Does a governor of the calling program stand where one in C stands, and does an error say what it did wrong, and where?

use crate::common;

use std::path::Path;
use std::sync::Arc;

use common::{Bench, Parts, TICK_NS, inputs, refused, run, table};
use idlewise_governor::{
    Build, CallerCpu, CallerGovernor, Choice, CpuToEnable, Device, Governor, GovernorError, Inputs, Spec,
    Value, Variable, offer, offering, on_offer,
};

/// The state that the last residency suggests; it goes wrong where and when `breaks` says.
#[derive(Debug)]
struct Recent {
    name: &'static str,
    breaks: (&'static str, u32),
}

#[derive(Default)]
struct RecentCpu {
    last_ns: i64,
    breaks: (&'static str, u32),
    done: u32,
}

impl CallerGovernor for Recent {
    fn name(&self) -> &str {
        self.name
    }

    fn source(&self) -> Option<(&Path, &str)> {
        Some((Path::new("recent.py"), "text"))
    }

    fn during(&self, job: &mut dyn FnMut()) {
        job();
    }

    fn enable(&self, cpu: &CpuToEnable<'_>) -> Result<Box<dyn CallerCpu>, String> {
        assert_eq!(
            (cpu.capacity, cpu.table.len(), cpu.tick_period_ns),
            (if cpu.number == 5 { 1024 } else { 512 }, 4, TICK_NS)
        );
        if self.breaks.0 == "enable" {
            return Err("does not want this CPU".to_owned());
        }
        Ok(Box::new(RecentCpu { breaks: self.breaks, ..RecentCpu::default() }))
    }
}

impl RecentCpu {
    fn breaks(&mut self, at: &str) -> Result<(), String> {
        self.done += u32::from(self.breaks.0 == at);
        if self.breaks.0 == at && self.done > self.breaks.1 { Err("broke".to_owned()) } else { Ok(()) }
    }
}

impl CallerCpu for RecentCpu {
    fn select(&mut self, _: &mut Device, inputs: &Inputs) -> Result<Choice, String> {
        self.breaks("select")?;
        let index = i32::from(self.last_ns > 60_000);
        let asked_sleep_length = inputs.sleep_length_ns > 20_000;
        Ok(Choice { index, stop_tick: self.last_ns > 90_000, asked_sleep_length })
    }

    fn reflect(&mut self, device: &mut Device, entered: usize, now_ns: u64) -> Result<(), String> {
        assert!(entered < 4 && now_ns == 2000);
        self.last_ns = device.last_residency_ns;
        self.breaks("reflect")
    }

    fn memory(&self) -> Vec<Variable> {
        vec![Variable { name: "last_ns".to_owned(), value: Value::Number(self.last_ns.into()) }]
    }
}

/// The governor that the thread's commands would find by its name.
fn found(name: &'static str, breaks: (&'static str, u32)) -> Result<Option<Governor>, GovernorError> {
    offer(vec![Arc::new(Recent { name, breaks })]);
    let found = Governor::of_caller(&Spec::new(name));
    offer(Vec::new());
    found
}

fn recent(breaks: (&'static str, u32)) -> Governor {
    found("Recent", breaks).unwrap().unwrap()
}

#[test]
fn it_chooses_as_the_same_in_c() {
    let bench = Bench::new();
    let in_c = bench.governor(
        &Parts {
            top: "#include <linux/percpu.h>\nstatic DEFINE_PER_CPU(s64, last);",
            select: "s64 ns = per_cpu(last, dev->cpu);\n\n\t*stop_tick = ns > 90000;\n\treturn ns > 60000;",
            reflect: "per_cpu(last, dev->cpu) = dev->last_residency_ns;",
            ..Parts::default()
        }
        .text(),
    );
    let choices = run(&recent(("", 0)), 20).unwrap();
    assert_eq!(choices, run(&in_c, 20).unwrap());
    assert!(choices.contains(&(1, true)) && choices.contains(&(1, false)) && choices.contains(&(0, false)));
}

#[test]
fn a_copy_that_was_reset_knows_nothing_of_before() {
    let governor = recent(("", 0));
    let answer = governor.run(|loader| {
        let mut instance = loader.load(TICK_NS)?;
        let slot = instance.add_cpu(5, &table(), 1024)?;
        let mut asked = |times: usize| {
            let mut one = || {
                let choice = instance.select(slot, &inputs(1000)).index;
                instance.device(slot).last_residency_ns = 70_000;
                instance.reflect(slot, 0, 2000);
                choice
            };
            let choices: Vec<i32> = (0..times).map(|_| one()).collect();
            instance.reset();
            choices
        };
        Ok((asked(3), asked(2), instance.registered().0, instance.take_messages().len()))
    });
    assert_eq!(answer.unwrap(), (vec![0, 1, 1], vec![0, 1], "Recent".to_owned(), 0));
}

#[test]
fn what_a_copy_remembers_is_shown_for_each_cpu() {
    let remembered = recent(("", 0)).run(|loader| {
        let mut instance = loader.load_explaining(TICK_NS)?;
        let slots = [instance.add_cpu(5, &table(), 1024)?, instance.add_cpu(6, &table(), 512)?];
        instance.device(slots[0]).last_residency_ns = 70_000;
        instance.reflect(slots[0], 0, 2000);
        Ok(slots.map(|slot| instance.memory(slot)).to_vec())
    });
    let last = |ns| vec![Variable { name: "last_ns".to_owned(), value: Value::Number(ns) }];
    assert_eq!(remembered.unwrap(), [last(70_000), last(0)]);
}

#[test]
fn another_thread_may_name_what_is_on_offer_while_it_works() {
    let of = |name| -> Arc<dyn CallerGovernor> { Arc::new(Recent { name, breaks: ("", 0) }) };
    offer(vec![of("Recent")]);
    let own = on_offer();
    offer(Vec::new());
    let there = |name| Governor::of_caller(&Spec::new(name)).unwrap().is_some();
    let seen = std::thread::spawn(move || {
        let inner = || (there("Recent"), there("Other"));
        let both = offering(&own, || (inner(), offering(&[of("Other")], inner), inner()));
        (both, inner())
    });
    let ((outer, nested, again), after) = seen.join().unwrap();
    assert_eq!([outer, nested, again, after], [(true, false), (false, true), (true, false), (false, false)]);
}

#[test]
fn errors_name_the_place() {
    for (breaks, at) in [
        (("select", 3), "in select, CPU 5, decision 3, at 0.000001000 s: it broke"),
        (("reflect", 4), "in reflect, CPU 5, decision 4, at 0.000002000 s: it broke"),
        (("enable", 0), "in enable, CPU 5: it does not want this CPU"),
    ] {
        let said = refused(&recent(breaks));
        assert_eq!(said, format!("governor `Recent` {at}"));
    }
}

#[test]
fn names_select_what_is_on_offer_and_nothing_else() {
    assert!(Governor::of_caller(&Spec::new("Recent")).unwrap().is_none(), "nobody offers it any more");
    let said = found("menu", ("", 0)).unwrap_err().to_string();
    assert!(said.contains("`menu` is the calling program's: a governor that ships"), "{said}");
    offer(vec![Arc::new(Recent { name: "Recent", breaks: ("", 0) })]);
    let said = Governor::of_caller(&"Recent:last=3".parse().unwrap()).unwrap_err().to_string();
    offer(Vec::new());
    assert!(said.contains("no parameters"), "{said}");
}

#[test]
fn it_is_foreign_and_not_compiled() {
    let governor = recent(("", 0));
    assert!(governor.is_foreign() && governor.built(Build::Sanitized).is_err());
    assert_eq!(governor.given_file().as_deref(), Some("recent.py"));
    assert_eq!(governor.source_hash().map(|hash| hash.len()), Some(64));
}

#[test]
fn it_does_not_run_in_the_process_of_a_governor_in_c() {
    let bench = Bench::new();
    let in_c = bench.governor(&Parts::default().text());
    let own = recent(("", 0));
    let said = in_c.run(|loader| loader.of(&own).load(TICK_NS).map(drop)).unwrap_err().to_string();
    assert!(said.contains("not together with a governor in C"), "{said}");
}
