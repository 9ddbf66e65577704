// SPDX-License-Identifier: GPL-2.0-only
//! Whatever happens, in whatever order: no panic, no clock beyond the limits, twice the same.

use crate::common;

use common::{Cpu, I7, Said, setup};
use idlewise_freq::{Change, Config, Driver, Event, Hook, Limits, Policy, list};
use proptest::prelude::*;

/// Something that a caller may do.
#[derive(Clone, Debug)]
enum Call {
    Hook { cpu: u32, from: u32, iowait: bool, rt: bool, dl: bool },
    Event(u32, Event),
    IdleEnd(u32),
    Timer(u32),
    Done,
    Limits(u32, u32),
    Speed(u32),
    Pulse,
}

fn events() -> impl Strategy<Value = Event> {
    prop::sample::select(vec![
        Event::Wake,
        Event::Sleep,
        Event::LastSleep,
        Event::Tick,
        Event::Balance,
        Event::Rt,
        Event::Dl,
    ])
}

fn calls() -> impl Strategy<Value = Call> {
    let khz = prop_oneof![0..4_000_000_u32, any::<u32>()];
    prop_oneof![
        8 => (0..4_u32, 0..5_u32, any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(cpu, from, iowait, rt, dl)| Call::Hook { cpu, from, iowait, rt, dl }),
        4 => (0..4_u32, events()).prop_map(|(cpu, event)| Call::Event(cpu, event)),
        2 => (0..4_u32).prop_map(Call::IdleEnd),
        4 => (0..4_u32).prop_map(Call::Timer),
        4 => Just(Call::Done),
        1 => (khz.clone(), khz.clone()).prop_map(|(a, b)| Call::Limits(a, b)),
        1 => khz.prop_map(Call::Speed),
        1 => Just(Call::Pulse),
    ]
}

/// Mostly what there is, at times what there cannot be.
fn number(usual: u64) -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0..=usual, 1 => any::<u64>(), 1 => Just(u64::MAX), 1 => Just(0)]
}

prop_compose! {
    fn cpus()(
        capacity in number(1024), util in number(1024), min in number(1024), max in number(1024), rt in number(1024),
        dl in number(1024), capped in any::<bool>(), walt in any::<bool>(), idle_calls in number(3),
        idle_ns in number(1_000_000_000), iowait_ns in number(1_000_000_000),
    ) -> Cpu {
        Cpu { capacity, util, min, max, rt, dl, capped, walt, idle_calls, idle_ns, iowait_ns }
    }
}

prop_compose! {
    fn drivers()(
        latency in number(50_000_000), delay in prop::option::of(number(10_000)), fast_switch in any::<bool>(),
        invariant in any::<bool>(), reference_khz in prop::option::of(any::<u32>()), any_cpu in any::<bool>(),
        updates_on_limits in any::<bool>(), adjust_perf in any::<bool>(),
    ) -> Driver {
        Driver {
            transition_latency_ns: latency, transition_delay_us: delay, fast_switch, invariant, reference_khz, any_cpu,
            updates_on_limits, adjust_perf,
        }
    }
}

/// With every parameter at its default, at its least, or at its most.
fn configs() -> Vec<Config> {
    let mut all = Vec::new();
    for g in list() {
        for pick in 0..3 {
            let params: Vec<String> = g
                .params
                .iter()
                .filter_map(|p| {
                    let (idlewise_freq::ParamKind::Number { min, max }
                    | idlewise_freq::ParamKind::Steps { min, max }) = p.kind;
                    match pick {
                        1 => Some(format!("{}={min}", p.name)),
                        2 => Some(format!("{}={max}", p.name)),
                        _ => (p.name == "khz").then(|| "khz=2000000".to_owned()),
                    }
                })
                .collect();
            let colon = if params.is_empty() { "" } else { ":" };
            let text = format!("{}{colon}{}", g.id, params.join(","));
            all.push(text.parse().unwrap());
        }
    }
    all
}

/// All answers, with what must hold of each.
fn play(config: &Config, driver: &Driver, cpus: u32, steps: &[(u64, Call, Vec<Cpu>)]) -> Vec<(u32, String)> {
    let mut p = Policy::new(setup(cpus, &I7, driver.clone()), config).unwrap();
    let mut t = 0_u64;
    let mut seen = Vec::new();
    for (i, (dt, call, said)) in steps.iter().enumerate() {
        let said = Said(said.clone());
        if i == 0 {
            let _ = p.start(t, &said);
        }
        t = t.saturating_add(*dt);
        let answer = match *call {
            Call::Hook { cpu, from, iowait, rt, dl } => {
                p.hook(&Hook { cpu, from, t_ns: t, iowait, rt, dl }, &said)
            }
            Call::Event(cpu, event) => p.event(cpu, t, event, &said),
            Call::IdleEnd(cpu) => p.idle_end(cpu, t, &said),
            Call::Timer(cpu) => p.timer(cpu, t, &said),
            Call::Done => p.transition_done(t, &said),
            Call::Limits(min_khz, max_khz) => p.set_limits(Limits { min_khz, max_khz }, t),
            Call::Speed(khz) => p.set_speed(khz, t),
            Call::Pulse => p.boost_pulse(t),
        };
        let limits = p.limits();
        match answer.change {
            Change::Now { khz } => {
                // Hardware needs no driver.
                assert!(driver.fast_switch || config.info().id.starts_with("hwp-"));
                assert_eq!(khz, p.cur_khz());
                assert!((limits.min_khz..=limits.max_khz).contains(&khz), "{config}: {khz} in {limits:?}");
            }
            Change::Start { khz, ends_ns } => {
                assert!(ends_ns >= t);
                assert_eq!(p.moving().map(|m| (m.khz, m.ends_ns)), Some((khz, ends_ns)));
                assert!((limits.min_khz..=limits.max_khz).contains(&khz), "{config}: {khz} in {limits:?}");
            }
            Change::None => {}
        }
        assert!(I7.contains(&p.cur_khz()));
        seen.push((p.cur_khz(), format!("{answer:?} {:?}", p.next_timer(0, i % 2 == 0))));
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_governor_leaves_its_limits_panics_or_does_otherwise_the_second_time(
        driver in drivers(),
        cpus in 1..4_u32,
        steps in prop::collection::vec((number(30_000_000), calls(), prop::collection::vec(cpus(), 1..4)), 1..60),
    ) {
        for config in configs() {
            prop_assert_eq!(play(&config, &driver, cpus, &steps), play(&config, &driver, cpus, &steps));
        }
    }
}

#[test]
fn every_governor_is_played_with_its_defaults_and_its_bounds() {
    assert!(configs().len() == 3 * list().len());
}
