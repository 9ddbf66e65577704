// SPDX-License-Identifier: GPL-2.0-only
//! Do power limits, turbo and a package's idle states hold in a run, and change nothing where they do not act?

use crate::common;

use common::{Log, MS, US, draws_sleep, draws_work, run_with, setting, sleep, task, work, workload};
use idlewise_parts::{Costs, Machine, SimEvent};
use idlewise_platform::{Package, PackageLevel, Platform};
use idlewise_power::{Heat, Leakage, Limit, Limits, PowerRecord};
use idlewise_sim::{Outcome, Setting};
use proptest::prelude::*;

const W: u64 = 1_000_000;
const S: u64 = 1000 * MS;

/// Four cores that share a clock of 1000 to 3000 MHz and draw 0.3 to 2.5 W each; a package of three levels.
fn platform() -> Platform {
    let row = |f: u64| {
        format!(
            "{{ khz = {}, active = {}, states = [200000, 20000] }}",
            f * 100_000,
            250 * f * f * f / 3 + 50_000
        )
    };
    let curve: Vec<String> = (10..=30).map(row).collect();
    let toml = format!(
        r#"
format = 1
id = "limited"
name = "Limited"

[package]
awake = 1500000
always = 100000
level = [{{ from = "WFI", power = 1000000 }}, {{ from = "sleep", power = 400000 }}]
source = "test"

[[cluster]]
name = "all"
cpus = "0-3"

[[cluster.state]]
name = "WFI"
exit_latency_us = 1
residency_us = 1

[[cluster.state]]
name = "sleep"
exit_latency_us = 300
residency_us = 1200

[cluster.clock]
transition_latency_us = 0
invariant = true
base_khz = 1500000
source = "test"

[cluster.power]
unit = "uw"
what = "made up"
source = "test"
at_khz = 1000000
curve = [{}]
"#,
        curve.join(",\n")
    );
    Platform::from_toml(&toml, "limited").unwrap()
}

fn machine(platform: &Platform, pl1: Option<Limit>, pl2: Option<Limit>) -> Machine<'_> {
    Machine { costs: Costs::NONE, power_limits: Limits { pl1, pl2 }, ..Machine::new(platform, 250, None) }
}

fn limit(power_uw: u64, window_ns: u64) -> Limit {
    Limit { power_uw, window_ns, clamp: true, start_uw: None }
}

fn seen(out: &Outcome) -> &PowerRecord {
    out.power.as_ref().unwrap()
}

fn with_seed(ms: u64, seed: u64, cpufreq: &str) -> Setting {
    Setting { seed, frequency: cpufreq.parse().unwrap(), ..setting(ms) }
}

#[test]
fn work_in_flight_slows_down_and_the_limit_is_used_up() {
    let platform = platform();
    let load = workload((0..4).map(|_| task("busy", vec![work(700 * MS)])).collect());
    let (free, _) = run_with(&machine(&platform, None, None), &load, "menu", &setting(60_000));
    assert_eq!(free.power, None);
    let (out, log) =
        run_with(&machine(&platform, Some(limit(6 * W, 2 * S)), None), &load, "menu", &setting(60_000));
    let mean_mw = (out.energy.sum_fj() / u128::from(out.end_ns)) as u64 / 1000;
    assert!((5900..=6300).contains(&mean_mw), "{mean_mw}");
    let l = &seen(&out).limits[0];
    assert!(l.average_uw.abs_diff(6 * W) < 30_000 && l.peak_uw < 6 * W + 300_000, "{l:?}");
    // 6 W less 1.6 W for the package are 1.1 W a core: 2.3 GHz of 3. All work is a core's at the highest clock.
    let (done, all) = (out.work as f64, free.work as f64);
    assert!((all / (4.0 * 60e9 * f64::from(1 << 20)) - 1.0).abs() < 0.01, "{all}");
    assert!((0.76..0.80).contains(&(done / all)), "{}", done / all);
    let clocks = |log: &Log| log.seen.iter().filter(|(.., e)| matches!(e, SimEvent::Clock { .. })).count();
    assert!(clocks(&log) > 100, "it alternates between two clocks");
}

#[test]
fn a_limit_that_is_never_reached_changes_nothing() {
    let platform = platform();
    let bursts = |n: u64| task("burst", vec![draws_work(100 * US, n * MS), draws_sleep(100 * US, 8 * MS)]);
    let load = workload((1..6).map(bursts).collect());
    for governor in ["menu", "teo"] {
        for cpufreq in ["schedutil", "ondemand"] {
            let setting = with_seed(3000, 5, cpufreq);
            let (none, log) = run_with(&machine(&platform, None, None), &load, governor, &setting);
            let high = machine(&platform, Some(limit(90 * W, S)), Some(limit(90 * W, MS)));
            let (out, same) = run_with(&high, &load, governor, &setting);
            assert_eq!(seen(&out).held_ns, 0);
            assert_eq!((log.entries, log.seen), (same.entries, same.seen));
            assert_eq!(Outcome { power: None, events: none.events, ..out }, none);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever the load, each part's energy is in the sum, and no average goes above its limit by more than a step, but for the
    /// stated delay where its window is short.
    #[test]
    fn a_limited_run_conserves_energy_and_keeps_its_limits(
        tasks in proptest::collection::vec((1_u64..40, 0_u64..40), 1..8),
        pl1 in 3_u64..9,
        pl2 in 4_u64..14,
        window in prop_oneof![Just(S), Just(8 * S), Just(28 * S)],
        seed in 0_u64..1000,
        governor in prop_oneof![Just("menu"), Just("teo"), Just("shallow"), Just("deepest")],
        cpufreq in prop_oneof![Just("schedutil"), Just("performance"), Just("ondemand")],
    ) {
        let platform = platform();
        let make = |(w, s): &(u64, u64)| task("t", vec![draws_work(10 * US, w * MS), draws_sleep(10 * US, (s * MS).max(20 * US))]);
        let load = workload(tasks.iter().map(make).collect());
        let at_limit = |l: Limit| Limit { start_uw: Some(l.power_uw), ..l };
        let machine = machine(&platform, Some(at_limit(limit(pl1 * W, window))), Some(limit(pl2 * W, 976 * US)));
        let setting = with_seed(4000, seed, cpufreq);
        let (out, _) = run_with(&machine, &load, governor, &setting);
        let e = &out.energy;
        let parts = e.running_fj.iter().chain(&e.idle_fj).chain(&e.shared_fj).sum::<u128>() + e.package_fj;
        prop_assert_eq!(seen(&out).drawn_fj, parts);
        // What one step is worth with all cores, at most.
        let step = 4 * (250 * (30_u64.pow(3) - 29_u64.pow(3)) / 3);
        let [one, two] = seen(&out).limits.as_slice() else { unreachable!() };
        prop_assert!(one.peak_uw <= pl1 * W + step || one.helpless_ns > 0, "{:?}", one);
        prop_assert!(two.above_ns <= out.end_ns);
        let (again, _) = run_with(&machine, &load, governor, &setting);
        prop_assert_eq!(again, out);
    }
}

#[test]
fn a_spike_above_pl2_is_cut_within_ten_milliseconds() {
    let platform = platform();
    let load = workload((0..4).map(|_| task("spike", vec![work(150 * MS), sleep(350 * MS)])).collect());
    let machine = machine(&platform, None, Some(limit(7 * W, 976 * US)));
    let (out, _) = run_with(&machine, &load, "menu", &setting(10_000));
    let two = &seen(&out).limits[0];
    let spikes = 20;
    assert!(two.above_ns > 0 && two.cause.held_ns > spikes * 100 * MS, "{two:?}");
    // The ceiling alternates next to the limit, so that half of the samples find the average above it, by less than a step.
    assert!(two.peak_uw > 8 * W && two.average_uw < 7 * W, "{two:?}");
    let mean_mw = (out.energy.sum_fj() / u128::from(out.end_ns)) as u64 / 1000;
    assert!(mean_mw < 5000, "{mean_mw}");
}

#[test]
fn more_active_cores_have_a_lower_turbo_and_shallow_sleepers_count_where_the_machine_says_so() {
    let mut platform = platform();
    let clock = platform.clusters[0].clock.as_mut().unwrap();
    let turbo = |cores, khz| idlewise_platform::TurboClock { cores, khz };
    clock.turbo = vec![turbo(1, 3_000_000), turbo(4, 2_500_000)];
    clock.inactive_from = Some("sleep".to_owned());
    let busy = |n: usize| workload((0..n).map(|_| task("busy", vec![work(100 * MS)])).collect());
    let share = |out: &Outcome| out.work as f64 / (out.end_ns as f64 * f64::from(1 << 20));
    let machine = machine(&platform, None, None);
    let (two, _) = run_with(&machine, &busy(2), "deepest", &setting(2000));
    assert!((share(&two) / 2.0 - 25.0 / 30.0).abs() < 0.01, "{}", share(&two));
    let (one, _) = run_with(&machine, &busy(1), "deepest", &setting(2000));
    let (among_shallow, _) = run_with(&machine, &busy(1), "shallow", &setting(2000));
    assert!((share(&one) - 1.0).abs() < 0.01, "{}", share(&one));
    assert!((share(&among_shallow) - 25.0 / 30.0).abs() < 0.01, "{}", share(&among_shallow));
    let held = seen(&among_shallow).turbo.unwrap().held_ns;
    assert!(held > 1900 * MS && seen(&one).turbo.unwrap().held_ns < 100 * MS);
}

#[test]
fn a_package_draws_by_what_its_shallowest_cpu_allows() {
    let mut platform = platform();
    platform.package = Some(Package {
        awake_uw: 7_000,
        always_uw: 50,
        each_awake_uw: 500,
        from: None,
        levels: vec![
            PackageLevel { from: "WFI".to_owned(), power_uw: 3_000 },
            PackageLevel { from: "sleep".to_owned(), power_uw: 200 },
        ],
        source: String::new(),
    });
    let sleeper = |us: u64| task("sleeper", vec![work(us * US), sleep(10 * MS)]);
    let load = workload(vec![sleeper(300), sleeper(700)]);
    let machine = machine(&platform, None, None);
    let (deep, log) = run_with(&machine, &load, "deepest", &setting(1000));
    let (shallow, _) = run_with(&machine, &load, "shallow", &setting(1000));
    // By time: in the deeper state all, in the shallower one never deeper than the first level.
    let uw = |out: &Outcome| (out.energy.package_fj / u128::from(out.end_ns)) as u64;
    assert!((250..1500).contains(&uw(&deep)), "{}", uw(&deep));
    assert!((3050..4500).contains(&uw(&shallow)), "{}", uw(&shallow));
    // The same from the log: a CPU is in no state before its first entry and on its way out.
    let mut states = [0_usize; 4];
    let powers = [7_050_u128, 3_050, 250];
    let (mut since_ns, mut fj) = (0, 0_u128);
    let mut changes: Vec<(u64, usize, usize)> = Vec::new();
    let mut entered = [0_u8; 4];
    for (t, cpu, what) in &log.seen {
        let c = *cpu as usize;
        match what {
            SimEvent::IdleEntered { state } => {
                entered[c] = *state;
                changes.push((*t, c, usize::from(*state) + 1));
            }
            SimEvent::IdleLeft => changes.push((t - [US, 300 * US][usize::from(entered[c])], c, 0)),
            _ => {}
        }
    }
    changes.sort_by_key(|(t, ..)| *t);
    let all = changes.into_iter().chain([(deep.end_ns, 0, 0)]);
    for (t, c, level) in all {
        let awake = states.iter().filter(|level| **level == 0).count() as u128;
        fj += (powers[*states.iter().min().unwrap()] + 500 * awake) * u128::from(t - since_ns);
        (since_ns, states[c]) = (t, level);
    }
    assert_eq!(deep.energy.package_fj, fj);
}

#[test]
fn a_warm_package_leaks_more_and_a_trip_lowers_its_clocks() {
    let platform = platform();
    let load = workload((0..4).map(|_| task("busy", vec![work(700 * MS)])).collect());
    let heat =
        |trip_mc, leakage| Heat { ambient_mc: 25_000, mk_per_w: 5_000, window_ns: S, trip_mc, leakage };
    let leakage = Leakage { uw: 800_000, at_mc: 50_000, doubles_mk: 30_000 };
    let run = |heat: Option<Heat>| {
        let machine = Machine { heat, ..machine(&platform, None, None) };
        run_with(&machine, &load, "menu", &setting(20_000)).0
    };
    let (none, plain, leaks, trips) = (
        run(None),
        run(Some(heat(None, None))),
        run(Some(heat(None, Some(leakage)))),
        run(Some(heat(Some(70_000), Some(leakage)))),
    );
    assert_eq!(plain.energy, none.energy);
    // 1.6 W and four cores of 2.3 W are 10.8 W and 79 degrees: what leaks there warms it up again.
    let hot = |out: &Outcome| seen(out).heat.unwrap();
    assert!((78_000..80_000).contains(&hot(&plain).now_mc), "{:?}", hot(&plain));
    let more_uw = (leaks.energy.package_fj - plain.energy.package_fj) as u64 / leaks.end_ns;
    let factor = 2_f64.powf((hot(&leaks).now_mc - 50_000) as f64 / 30e3) - 1.0;
    // The mean has the warming up in it.
    assert!((more_uw as f64 / 8e5 / factor - 0.9).abs() < 0.05, "{more_uw} {factor}");
    assert!((69_500..70_500).contains(&hot(&trips).now_mc), "{:?}", hot(&trips));
    assert!(hot(&trips).peak_mc < 71_500 && trips.work < plain.work);
    for out in [&plain, &leaks, &trips] {
        assert_eq!(seen(out).drawn_fj, out.energy.sum_fj());
    }
    assert_eq!(run(Some(heat(Some(70_000), Some(leakage)))), trips);
}

#[test]
fn power_that_idle_cores_save_becomes_clock_of_busy_ones_only_at_the_limit() {
    let platform = platform();
    let sleeper = || task("sleeper", vec![work(50 * US), sleep(5 * MS)]);
    let load = workload(vec![task("busy", vec![work(300 * MS)]), sleeper(), sleeper(), sleeper()]);
    let work_of = |governor: &str, watts: Option<u64>| {
        let pl1 = watts.map(|w| limit(w, S));
        let (out, _) = run_with(&machine(&platform, pl1, None), &load, governor, &setting(20_000));
        (
            out.work as f64 / (out.end_ns as f64 * f64::from(1 << 20)),
            out.energy.sum_fj() as f64 / out.end_ns as f64,
        )
    };
    let ((deep, _), (shallow, _)) =
        (work_of("deepest", Some(3_300_000)), work_of("shallow", Some(3_300_000)));
    // Three cores in WFI draw 0.54 W more than in the deeper state: the busy one has so much less of 3.3 W, and P grows with f^3.
    assert!(deep > shallow * 1.08, "{deep} {shallow}");
    // Far from the limit, and without one, the shallow state takes power and no work.
    for watts in [Some(12_000_000), None] {
        let ((deep, less), (shallow, more)) = (work_of("deepest", watts), work_of("shallow", watts));
        assert!((deep / shallow - 1.0).abs() < 0.01, "{deep} {shallow}");
        assert!(more > less * 1.1, "{more} {less}");
    }
}
