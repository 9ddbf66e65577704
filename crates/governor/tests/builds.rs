// SPDX-License-Identifier: GPL-2.0-only
//! Does a governor do the same however it is compiled, and does each build show what it is for?

use crate::common::{Bench, Parts, TICK_NS, ask};

use idlewise_governor::{Build, Fault, FaultKind, Governor, GovernorError, Spec, catalog};

/// Choices and faults.
type Found = (Vec<(i32, bool)>, Vec<Fault>);

/// What is found of the governor in that build; nothing where the compiler cannot do it.
fn run(governor: &Governor, build: Build) -> Option<Found> {
    let built = match governor.built(build) {
        Ok(built) => built,
        // Another compiler than gcc.
        Err(e @ GovernorError::Compile { .. }) => {
            println!("skipped: {e}");
            return None;
        }
        Err(e) => panic!("{e}"),
    };
    let done = built.run(|loader| {
        let mut instance = loader.load(TICK_NS)?;
        Ok((ask(&mut instance, 20)?, instance.take_faults()))
    });
    Some(done.unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn our_governors_choose_the_same_in_every_build_and_have_no_fault() {
    for info in catalog() {
        let governor = Governor::find(&Spec::new(info.id)).unwrap();
        let plain = governor.run(|loader| ask(&mut loader.load(TICK_NS)?, 20)).unwrap();
        for build in [Build::Plain, Build::Zeroed, Build::Patterned, Build::Sanitized] {
            if let Some(found) = run(&governor, build) {
                assert_eq!(found, (plain.clone(), Vec::new()), "{} {build:?}", info.id);
            }
        }
        assert!(governor.source_text().is_some_and(|text| text.contains(info.id)), "{}", info.id);
    }
}

#[test]
fn a_fault_has_its_kind_and_its_line() {
    let top = "static volatile int big = 0x7fffffff;\nstatic DEFINE_PER_CPU(int, calls);\nstatic volatile int sink;";
    let of = |select: &str| {
        let bench = Bench::new();
        let text = Parts { top, select, ..Parts::default() }.text();
        let line = text.lines().position(|l| l.trim() == select).unwrap() + 1;
        let faults = run(&bench.governor(&text), Build::Sanitized)?.1;
        let place = faults.iter().map(|f| (f.kind, f.line as usize, f.file.ends_with("mine.c")));
        Some((place.collect::<Vec<_>>(), line))
    };
    for (select, kind) in [
        ("big = big + 1;", FaultKind::Arithmetic),
        ("sink = *(volatile int *)(idlewise_env.per_cpu_offset + 4096);", FaultKind::Memory),
        ("++*per_cpu_ptr(&calls, !dev->cpu);", FaultKind::OtherCpu),
    ] {
        let Some((faults, line)) = of(select) else { return };
        assert!(faults.contains(&(kind, line, true)), "{select}: {faults:?}, line {line}");
        assert!(faults.iter().all(|f| f.0 == kind), "{select}: {faults:?}");
    }
}

#[test]
fn what_a_variable_without_a_value_holds_is_up_to_the_build() {
    let bench = Bench::new();
    let top = "static void set(int *to, bool really)\n{\n\tif (really)\n\t\t*to = 0;\n}";
    let select = "int unset;\n\n\tset(&unset, drv->state_count == 0);\n\treturn unset ? 1 : 0;";
    let governor = bench.governor(&Parts { top, select, ..Parts::default() }.text());
    let [zeroed, patterned] = [Build::Zeroed, Build::Patterned].map(|build| run(&governor, build));
    let (Some((zeroed, _)), Some((patterned, _))) = (zeroed, patterned) else { return };
    assert!(zeroed.iter().all(|c| c.0 == 0) && patterned.iter().all(|c| c.0 == 1), "{patterned:?}");
}

#[test]
fn a_counted_build_counts_the_same_blocks_every_time_and_more_where_more_is_done() {
    let blocks = |select: &str| {
        let bench = Bench::new();
        let governor = bench.governor(&Parts { select, ..Parts::default() }.text());
        let counted = governor.built(Build::Counted).unwrap();
        let count = || {
            let params = counted.run(|loader| {
                let mut instance = loader.load(TICK_NS)?;
                ask(&mut instance, 20)?;
                Ok(instance.params())
            });
            let found = params.unwrap().into_iter().find(|p| p.name == Build::BLOCKS).unwrap();
            found.value.parse::<u64>().unwrap()
        };
        let once = count();
        assert_eq!(once, count(), "{select}");
        once
    };
    let (little, much) = (blocks(";"), blocks("for (volatile int i = 0; i < 10; i++)\n\t\t;"));
    assert!(little > 0 && much >= little + 20 * 10, "{little} and {much}");
}
