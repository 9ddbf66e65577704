// SPDX-License-Identifier: GPL-2.0-only
//! What every governor of the catalogue must do, a new one included: stay in bounds, depend on its inputs only, keep
//! CPUs and instances apart, forget on reset.

use crate::life;

use idlewise_governor::{Choice, GovernorError, Inputs, Instance, Slot, Spec, catalog};
use idlewise_model::{IdleTable, MAX_STATES, NO_LATENCY_LIMIT_NS};
use life::{TICK_NS, live, live_all, load, state, story, table, tables};

/// Governors that choose a disabled state in a kernel too (`governor-behaviour.md` 2, quirk 2, and 3).
const MAY_CHOOSE_DISABLED: [&str; 2] = ["haltpoll", "ladder"];

#[test]
fn the_choice_is_a_state_that_exists() {
    for info in catalog() {
        for (t, table) in tables().iter().enumerate() {
            for seed in 1..6 {
                let mut governor = load(info.id);
                let slot = governor.add_cpu(0, table, 1024).unwrap();
                for (i, step) in story(seed, 2000).iter().enumerate() {
                    let index = live(&mut governor, slot, step).index;
                    let exists = usize::try_from(index).is_ok_and(|x| x < table.len());
                    assert!(exists, "{}: table {t}, seed {seed}, step {i}: state {index}", info.id);
                }
            }
        }
    }
}

#[test]
fn an_enabled_state_is_chosen_where_nothing_forbids_it() {
    for info in catalog().iter().filter(|info| !MAY_CHOOSE_DISABLED.contains(&info.id)) {
        let table = table(&[(1, 1), (300, 1200), (900, 5000)]);
        for enabled in 0..table.len() {
            let mut governor = load(info.id);
            let slot = governor.add_cpu(0, &table, 1024).unwrap();
            for mut step in story(7, 500) {
                step.disabled = !(1 << enabled);
                step.inputs.latency_limit_ns = NO_LATENCY_LIMIT_NS;
                let choice = live(&mut governor, slot, &step);
                assert_eq!(choice.index, enabled as i32, "{}: only state {enabled} is enabled", info.id);
            }
        }
    }
}

#[test]
fn the_only_state_is_chosen_and_may_be_disabled() {
    for info in catalog() {
        for only in [(1, 1), (0, 0)] {
            let mut governor = load(info.id);
            let slot = governor.add_cpu(0, &table(&[only]), 1024).unwrap();
            for mut step in story(47, 500) {
                step.disabled &= 1;
                assert_eq!(live(&mut governor, slot, &step).index, 0, "{}", info.id);
            }
        }
    }
}

#[test]
fn the_same_inputs_give_the_same_choices() {
    let table = &tables()[5];
    for info in catalog() {
        let story = story(11, 3000);
        let run = || {
            let mut governor = load(info.id);
            let slot = governor.add_cpu(3, table, 512).unwrap();
            live_all(&mut governor, slot, &story)
        };
        assert_eq!(run(), run(), "{}", info.id);
    }
}

#[test]
fn reset_forgets_everything() {
    let table = &tables()[5];
    for info in catalog() {
        let mut governor = load(info.id);
        let slots = [0, 1].map(|cpu| governor.add_cpu(cpu, table, 1024).unwrap());
        let first = live_all(&mut governor, slots[1], &story(13, 2000));
        live_all(&mut governor, slots[0], &story(17, 500));
        governor.reset();
        assert_eq!(governor.device(slots[1]).disabled(), 0, "{}", info.id);
        assert_eq!(first, live_all(&mut governor, slots[1], &story(13, 2000)), "{}", info.id);
    }
}

#[test]
fn reset_keeps_parameters() {
    for info in catalog() {
        let mut governor = load(info.id);
        let before = governor.params();
        governor.reset();
        assert_eq!(before, governor.params(), "{}", info.id);
    }
    let mut governor = Instance::load(&"teo-util:util_steps=7".parse().unwrap(), TICK_NS).unwrap();
    governor.reset();
    assert!(governor.params().iter().any(|p| p.name == "util_steps" && p.value == "7"));
}

#[test]
fn the_past_of_one_cpu_does_not_move_another() {
    let table = &tables()[4];
    for info in catalog() {
        let (story, other) = (story(19, 1000), story(23, 1000));
        let mut alone = load(info.id);
        let slot = alone.add_cpu(0, table, 1024).unwrap();
        let expected = live_all(&mut alone, slot, &story);

        let mut both = load(info.id);
        let noisy = both.add_cpu(6, &tables()[5], 400).unwrap();
        let quiet = both.add_cpu(2, table, 1024).unwrap();
        for ((step, noise), expected) in story.iter().zip(&other).zip(&expected) {
            live(&mut both, noisy, noise);
            assert_eq!(live(&mut both, quiet, step), *expected, "{}", info.id);
        }
    }
}

#[test]
fn the_past_of_one_instance_does_not_move_another() {
    let table = &tables()[5];
    for info in catalog() {
        let story = story(29, 1000);
        let mut first = load(info.id);
        let slot = first.add_cpu(0, table, 1024).unwrap();
        let expected = live_all(&mut first, slot, &story);
        let mut second = load(info.id);
        let slot = second.add_cpu(0, table, 1024).unwrap();
        assert_eq!(expected, live_all(&mut second, slot, &story), "{}", info.id);
    }
}

#[test]
fn parameters_belong_to_one_instance() {
    let set = |text: &str| Instance::load(&text.parse().unwrap(), TICK_NS).unwrap();
    let value =
        |g: &Instance| g.params().into_iter().find(|p| p.name == "util_threshold_shift").unwrap().value;
    let (five, plain, hex) =
        (set("teo-util:util_threshold_shift=5"), set("teo-util"), set("teo-util:util_threshold_shift=0x9"));
    assert_eq!([value(&five), value(&plain), value(&hex)], ["5", "6", "9"]);
}

#[test]
fn two_thousand_instances_live_at_once() {
    let table = &tables()[4];
    let story = story(31, 50);
    let ids: Vec<&str> = catalog().iter().map(|info| info.id).collect();
    let expected: Vec<Vec<Choice>> = ids
        .iter()
        .map(|id| {
            let mut governor = load(id);
            let slot = governor.add_cpu(0, table, 1024).unwrap();
            live_all(&mut governor, slot, &story)
        })
        .collect();
    let mut all: Vec<(Instance, Slot)> = (0..2000)
        .map(|i| {
            let mut governor = load(ids[i % ids.len()]);
            let slot = governor.add_cpu(0, table, 1024).unwrap();
            (governor, slot)
        })
        .collect();
    // Step by step through all of them, so that shared memory would show.
    for (k, step) in story.iter().enumerate() {
        for (i, (governor, slot)) in all.iter_mut().enumerate() {
            let kind = i % ids.len();
            assert_eq!(live(governor, *slot, step), expected[kind][k], "{} number {i}, step {k}", ids[kind]);
        }
    }
}

#[test]
fn instances_work_on_any_thread() {
    let table = &tables()[5];
    let story = story(37, 2000);
    for info in catalog() {
        let run = |mut governor: Instance| {
            let slot = governor.add_cpu(0, table, 1024).unwrap();
            live_all(&mut governor, slot, &story)
        };
        let here = run(load(info.id));
        let there = load(info.id);
        let made_elsewhere = std::thread::scope(|s| {
            let threads: Vec<_> = (0..4).map(|_| s.spawn(|| run(load(info.id)))).collect();
            let moved = s.spawn(move || run(there)).join().unwrap();
            assert_eq!(moved, here, "{}", info.id);
            threads.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(made_elsewhere.iter().all(|c| *c == here), "{}", info.id);
    }
}

#[test]
fn four_thousand_cpus_fit() {
    let table = &tables()[4];
    let story = story(41, 20);
    for info in catalog() {
        let mut governor = load(info.id);
        let slots: Vec<Slot> = (0..4200).map(|cpu| governor.add_cpu(cpu, table, 1024).unwrap()).collect();
        let first = live_all(&mut governor, slots[0], &story);
        let last = live_all(&mut governor, slots[4199], &story);
        assert_eq!(first, last, "{}", info.id);
        let again = governor.add_cpu(77, table, 1024);
        assert_eq!(again.unwrap_err(), GovernorError::SameCpu { id: info.id.to_owned(), cpu: 77 });
    }
}

#[test]
fn states_disabled_by_default_start_disabled() {
    let mut states = vec![state(1, 1), state(300, 1200)];
    states[1].disabled = true;
    let table = IdleTable::new(states).unwrap();
    let mut governor = load("deepest");
    let slot = governor.add_cpu(0, &table, 1024).unwrap();
    assert_eq!(governor.device(slot).disabled(), 0b10);
    let far = Inputs { sleep_length_ns: 1 << 40, latency_limit_ns: NO_LATENCY_LIMIT_NS, ..Inputs::default() };
    assert_eq!(governor.select(slot, &far).index, 0);
    governor.device(slot).poll_limit_ns = 5;
    governor.set_disabled(slot, 0b10);
    assert_eq!(governor.device(slot).poll_limit_ns, 5, "nothing changed");
    governor.set_disabled(slot, 0);
    assert_eq!(governor.device(slot).poll_limit_ns, 0);
    assert_eq!(governor.select(slot, &far).index, 1);
}

#[test]
fn a_state_that_does_not_exist_is_not_reflected() {
    for info in catalog() {
        let mut governor = load(info.id);
        let slot = governor.add_cpu(0, &tables()[4], 1024).unwrap();
        let before = governor.device(slot).last_state_idx();
        for entered in [3, MAX_STATES, usize::MAX] {
            governor.reflect(slot, entered, 0);
        }
        assert_eq!(governor.device(slot).last_state_idx(), before, "{}", info.id);
    }
}

#[test]
fn mistakes_are_answered_with_the_way_out() {
    let said = |text: &str| {
        let spec: Spec = text.parse().unwrap();
        Instance::load(&spec, TICK_NS).err().map_or_else(String::new, |e| e.to_string())
    };
    let unknown = said("tea-6.1");
    assert!(unknown.contains("did you mean `teo-6.1`?") && !unknown.contains("shallow"), "{unknown}");
    let release = said("teo-6.8");
    assert!(release.contains("did you mean `teo-6.6`?"), "by the kernel that has it: {release}");
    let param = said("teo-util:util_treshold_shift=5");
    assert!(
        param.contains("did you mean `util_threshold_shift`?") && param.contains("util_steps"),
        "{param}"
    );
    assert!(said("deepest:x=1").contains("it has none"));
    let value = said("teo-util:util_steps=-1");
    assert!(value.contains("`uint`") && value.contains("0 to 4294967295"), "{value}");
    let value = said("shallow:stop_tick=maybe");
    assert!(value.contains("`bool`") && value.contains("off or on"), "{value}");
    assert_eq!(Instance::load(&Spec::new("menu"), 0).err(), Some(GovernorError::TickPeriod(0)));
}

#[test]
fn shallow_and_deepest_are_what_they_say() {
    let table = table(&[(0, 0), (10, 20), (100, 600)]);
    let ask = |spec: &str, disabled, latency_limit_ns| {
        let mut governor = Instance::load(&spec.parse().unwrap(), TICK_NS).unwrap();
        let slot = governor.add_cpu(0, &table, 1024).unwrap();
        governor.set_disabled(slot, disabled);
        let choice = governor.select(slot, &Inputs { latency_limit_ns, ..Inputs::default() });
        (choice.index, choice.stop_tick)
    };
    let free = NO_LATENCY_LIMIT_NS;
    assert_eq!(ask("shallow", 0, free), (0, false), "a polling state keeps the tick");
    assert_eq!(ask("shallow", 1, free), (1, true));
    assert_eq!(ask("shallow:stop_tick=0", 1, free), (1, false));
    assert_eq!(ask("shallow", 7, free), (0, false));
    assert_eq!(ask("deepest", 0, free), (2, true));
    assert_eq!(ask("deepest", 4, free), (1, true));
    assert_eq!(ask("deepest", 0, 99_999), (1, true));
    assert_eq!(ask("deepest", 0, 0), (0, false), "a polling state keeps the tick");
    assert_eq!(ask("deepest", 1, 0), (1, true), "no enabled state keeps the limit");
    assert_eq!(ask("deepest", 7, free), (0, false));
}
