// SPDX-License-Identifier: GPL-2.0-only
//! What every governor of the catalogue must do, a new one included: stay in bounds, depend on its inputs only, keep
//! CPUs and instances apart, forget on reset.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use idlewise_governor::{Choice, GovernorError, Inputs, Instance, Slot, Spec, Value, Variable, catalog};
use idlewise_model::{IdleState, IdleTable, MAX_STATES, NO_LATENCY_LIMIT_NS};

const TICK_NS: u64 = 4_000_000;

/// Values at which arithmetic goes wrong if it can.
const EDGES: [i64; 16] = [
    0,
    1,
    -1,
    -1_000_000_000,
    i64::MIN,
    i64::MIN + 1,
    i64::MAX,
    i64::MAX - 1,
    1 << 31,
    1 << 32,
    1 << 51,
    15_000,
    2_000_000,
    3_999_999,
    4_000_000,
    50_000_000,
];

/// Governors that choose a disabled state in a kernel too (`governors.md` 2, quirk 2, and 3).
const MAY_CHOOSE_DISABLED: [&str; 2] = ["haltpoll", "ladder"];

/// A seeded source of anything.
struct Chance(u64);

impl Chance {
    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.draw() >> 16) % limit
    }

    /// Mostly a plausible time, of any magnitude up to ten seconds, at times an edge.
    fn time(&mut self) -> i64 {
        if self.below(8) == 0 {
            return EDGES[self.below(EDGES.len() as u64) as usize];
        }
        let magnitude = 10_u64.pow(self.below(11) as u32);
        self.below(magnitude).cast_signed()
    }
}

fn state(exit_us: i64, residency_us: i64) -> IdleState {
    IdleState {
        name: format!("S{residency_us}"),
        exit_latency_ns: exit_us * 1000,
        target_residency_ns: residency_us * 1000,
        entry_ns: 0,
        polling: residency_us == 0,
        disabled: false,
    }
}

fn table(states: &[(i64, i64)]) -> IdleTable {
    IdleTable::new(states.iter().map(|s| state(s.0, s.1)).collect()).unwrap()
}

fn tables() -> Vec<IdleTable> {
    vec![
        table(&[(1, 1)]),
        table(&[(0, 0)]),
        table(&[(0, 0), (1, 1)]),
        table(&[(1, 1), (300, 1200)]),
        table(&[(1, 1), (370, 900), (900, 2000)]),
        table(&[
            (0, 0),
            (2, 2),
            (10, 20),
            (70, 100),
            (85, 200),
            (124, 800),
            (200, 800),
            (480, 5000),
            (890, 5000),
        ]),
        table(&[(5, 100), (5, 100), (5, 100), (5, 100)]),
        table(&[
            (0, 0),
            (1, 1),
            (2, 4),
            (3, 9),
            (10, 40),
            (50, 200),
            (100, 900),
            (400, 3000),
            (900, 9000),
            (3000, 90_000),
        ]),
    ]
}

/// One step in the life of a CPU.
#[derive(Clone)]
struct Step {
    inputs: Inputs,
    disabled: u16,
    stay_ns: i64,
    got_tick: bool,
    poll_time_limit: bool,
    rejected: bool,
    demoted: bool,
}

fn story(seed: u64, steps: usize) -> Vec<Step> {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut now_ns = 0_u64;
    let mut disabled = 0;
    let mut step = || {
        let c = &mut chance;
        now_ns = now_ns.wrapping_add_signed(c.time());
        if c.below(16) == 0 {
            disabled = match c.below(3) {
                0 => 0,
                1 => u16::MAX,
                _ => c.draw() as u16,
            };
        }
        let limits = [NO_LATENCY_LIMIT_NS, NO_LATENCY_LIMIT_NS, 0, 8_000, 300_000];
        Step {
            inputs: Inputs {
                now_ns,
                sleep_length_ns: c.time(),
                delta_tick_ns: c.time(),
                latency_limit_ns: limits[c.below(limits.len() as u64) as usize],
                util: c.below(1025) as u32,
                iowait: c.below(4) as u32,
                random: c.draw() as u32,
                tick_stopped: c.below(4) == 0,
            },
            disabled,
            stay_ns: c.time(),
            got_tick: c.below(5) == 0,
            poll_time_limit: c.below(5) == 0,
            rejected: c.below(20) == 0,
            demoted: c.below(10) == 0,
        }
    };
    (0..steps).map(|_| step()).collect()
}

fn live(governor: &mut Instance, slot: Slot, step: &Step) -> Choice {
    governor.set_disabled(slot, step.disabled);
    let choice = governor.select(slot, &step.inputs);
    let device = governor.device(slot);
    device.got_tick |= step.got_tick;
    device.poll_time_limit = step.poll_time_limit;
    device.last_residency_ns = if step.rejected { 0 } else { step.stay_ns };
    if !step.rejected {
        let entered = if step.demoted { 0 } else { usize::try_from(choice.index).unwrap_or(0) };
        governor.reflect(slot, entered, step.inputs.now_ns.wrapping_add_signed(step.stay_ns));
    }
    choice
}

fn live_all(governor: &mut Instance, slot: Slot, story: &[Step]) -> Vec<Choice> {
    story.iter().map(|s| live(governor, slot, s)).collect()
}

fn load(id: &str) -> Instance {
    Instance::load(&Spec::new(id), TICK_NS).unwrap_or_else(|e| panic!("{id}: {e}"))
}

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

/// Specs of what a parameter can do to arithmetic and array bounds, beyond the defaults.
const TUNED: [&str; 14] = [
    "haltpoll:guest_halt_poll_ns=0,guest_halt_poll_grow_start=4294967295",
    "haltpoll:guest_halt_poll_ns=4294967295,guest_halt_poll_grow=4294967295,guest_halt_poll_shrink=0",
    "menu:intervals=1,decay_shift=0,interesting_ns=0,residency_threshold_ns=0",
    "menu:intervals=64,decay_shift=10,interesting_ns=1000000000,residency_threshold_ns=1000000000",
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
        for other in ["intervals=3", "decay_shift=1"] {
            assert!(choices(&format!("{id}:{other}")) != plain, "{id}: {other} changes nothing");
        }
    }
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
    assert!(unknown.contains("did you mean `teo-6.1`?") && unknown.contains("shallow"), "{unknown}");
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
fn every_parameter_is_described() {
    for info in catalog() {
        for p in load(info.id).params() {
            assert!(!p.description.is_empty(), "{}: MODULE_PARM_DESC({}) is missing", info.id, p.name);
            let spec = Spec { id: info.id.to_owned(), params: vec![(p.name.clone(), p.value.clone())] };
            assert!(Instance::load(&spec, TICK_NS).is_ok(), "{spec}: its own default is refused");
        }
    }
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
    assert_eq!(ask("deepest", 0, 0), (0, true));
    assert_eq!(ask("deepest", 7, free), (0, true));
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
