// SPDX-License-Identifier: GPL-2.0-only
//! Does PELT compute what signal-behaviour.md, A1, A2, A10, A11 and A15 say, which was compared with a kernel's own
//! code?

use idlewise_signal::pelt::{Avg, Config, HalfLife, Pelt, PeltError, Rq, Speed};

const MS: u64 = 1_000_000;
const PERIOD: u64 = 1_048_576;

fn pelt() -> Pelt {
    Pelt::kernel(6, 12).unwrap()
}

/// `(crossed, average)` after `now_ns` with one task that is there or not.
fn step(pelt: &Pelt, avg: &mut Avg, now_ns: u64, runs: bool) -> bool {
    let one = u64::from(runs);
    let crossed = pelt.update(avg, Speed::FULL, now_ns, one, one, runs);
    if crossed {
        pelt.publish(avg, 1);
    }
    crossed
}

/// Util, its sum and the open period at the times asked for, with one update every `every_ns`.
fn course(start: Avg, every_ns: u64, runs: bool, at: &[u64]) -> Vec<(u64, u64, u32, u32)> {
    let (pelt, mut avg, mut seen) = (pelt(), start, Vec::new());
    for k in 1..=at.iter().copied().max().unwrap() {
        step(&pelt, &mut avg, k * every_ns, runs);
        if at.contains(&k) {
            seen.push((k, avg.util, avg.util_sum, avg.frac));
        }
    }
    seen
}

fn assert_course(start: Avg, every_ns: u64, runs: bool, golden: &[(u64, u64, u32, u32)]) {
    let at: Vec<u64> = golden.iter().map(|g| g.0).collect();
    assert_eq!(course(start, every_ns, runs, &at), golden);
}

#[test]
fn a15_a_rise_with_updates_every_millisecond() {
    assert_course(
        Avg::default(),
        MS,
        true,
        &[
            (1, 0, 999_424, 976),
            (2, 41, 1_976_408, 929),
            (4, 81, 3_863_968, 834),
            (8, 156, 7_390_418, 644),
            (10, 191, 9_036_263, 549),
            (16, 288, 13_544_229, 265),
            (20, 346, 16_219_662, 75),
            (32, 495, 23_410_391, 530),
            (34, 516, 24_373_012, 435),
            (50, 659, 31_287_908, 700),
            (64, 751, 35_128_087, 36),
            (75, 806, 38_127_846, 538),
            (78, 819, 38_628_349, 395),
            (80, 828, 38_940_703, 301),
            (100, 894, 42_135_012, 376),
            (145, 973, 45_750_057, 289),
            (200, 1008, 47_852_288, 752),
            (300, 1022, 47_870_352, 104),
            (345, 1023, 47_840_778, 18),
            (400, 1024, 48_341_291, 481),
        ],
    );
}

#[test]
fn a15_b_rise_with_updates_every_4_ms() {
    assert_course(
        Avg::default(),
        4 * MS,
        true,
        &[
            (1, 81, 3_863_552, 834),
            (2, 156, 7_390_060, 644),
            (3, 224, 10_607_498, 454),
            (5, 346, 16_217_605, 75),
            (10, 575, 26_988_913, 150),
            (20, 827, 38_925_496, 301),
            (36, 971, 45_724_484, 337),
            (50, 1007, 47_828_952, 752),
        ],
    );
}

#[test]
fn a15_c_rise_with_updates_every_period() {
    assert_course(
        Avg::default(),
        PERIOD,
        true,
        &[
            (1, 21, 1_026_048, 0),
            (2, 43, 2_030_109, 0),
            (3, 64, 3_012_655, 0),
            (10, 199, 9_325_570, 0),
            (32, 512, 23_941_816, 0),
            (64, 768, 35_912_725, 0),
            (74, 818, 38_244_117, 0),
            (75, 823, 38_450_672, 0),
            (139, 974, 45_525_392, 0),
            (345, 1024, 47_856_424, 0),
        ],
    );
}

fn full() -> Avg {
    Avg { util_sum: 1024 * 46_718, util: 1024, ..Avg::default() }
}

#[test]
fn a15_d_decay() {
    assert_course(
        full(),
        MS,
        false,
        &[
            (2, 982, 46_814_135, 929),
            (10, 832, 39_365_835, 549),
            (67, 256, 12_221_676, 917),
            (100, 129, 6_110_828, 376),
            (112, 101, 4_815_270, 831),
            (213, 12, 588_989, 135),
            (220, 10, 517_204, 827),
            (336, 0, 46_695, 445),
        ],
    );
    let util: Vec<u64> = course(full(), MS, false, &[33, 302]).iter().map(|c| c.1).collect();
    assert_eq!(util, [517, 1]);
}

/// A row of A15 (e) and (f): time passed, load, runnable, running; crossed; open period; three sums; three averages.
type Row = (u64, (u64, u64, bool), bool, u32, (u64, u64, u32), (u64, u64, u64));

fn assert_rows(weight: u64, rows: &[Row]) {
    let (pelt, mut avg, mut now_ns) = (pelt(), Avg::default(), 0);
    for (number, (passed, (load, runnable, running), crossed, frac, sums, averages)) in
        rows.iter().enumerate()
    {
        now_ns += passed;
        let done = pelt.update(&mut avg, Speed::FULL, now_ns, *load, *runnable, *running);
        if done {
            pelt.publish(&mut avg, weight);
        }
        assert_eq!(done, *crossed, "row {number}");
        assert_eq!(avg.frac, *frac, "row {number}");
        assert_eq!((avg.load_sum, avg.runnable_sum, avg.util_sum), *sums, "row {number}");
        assert_eq!((avg.load, avg.runnable, avg.util), *averages, "row {number}");
    }
}

#[test]
fn a15_e_a_task_that_runs_waits_and_sleeps() {
    let (on, waits, off) = ((1, 1, true), (1, 1, false), (0, 0, false));
    assert_rows(
        1024,
        &[
            (1000, on, false, 0, (0, 0, 0), (0, 0, 0)),
            (1_023_000, on, false, 1000, (1000, 1_024_000, 1_024_000), (0, 0, 0)),
            (24, on, false, 1000, (1000, 1_024_000, 1_024_000), (0, 0, 0)),
            (PERIOD, on, true, 1000, (2001, 2_049_609, 2_049_609), (42, 42, 42)),
            (5 * MS, off, true, 762, (1795, 1_839_225, 1_839_225), (38, 38, 38)),
            (1500, waits, false, 764, (1797, 1_841_273, 1_839_225), (38, 38, 38)),
            (3 * MS, waits, true, 621, (4527, 4_637_683, 1_723_507), (97, 97, 36)),
            (3 * MS, on, true, 479, (7078, 7_249_961, 4_519_134), (153, 153, 95)),
            (40 * MS, off, true, 630, (3107, 3_183_189, 1_984_184), (67, 67, 41)),
            (100 * MS, on, true, 1006, (42072, 43_082_835, 42_929_677), (902, 902, 899)),
            (2200 * MS, off, true, 67, (0, 0, 0), (0, 0, 0)),
        ],
    );
}

#[test]
fn a15_f_a_queue() {
    assert_rows(
        1,
        &[
            (PERIOD, (2048, 2, true), true, 0, (2_052_096, 2_052_096, 1_026_048), (43, 43, 21)),
            (PERIOD, (2048, 3, true), true, 0, (4_060_219, 5_086_267, 2_030_109), (86, 108, 43)),
            (10 * PERIOD, (1024, 1, true), true, 0, (12_585_823, 13_412_043, 10_951_087), (269, 287, 234)),
            (10 * PERIOD, (0, 0, false), true, 0, (10_134_673, 10_799_982, 8_818_309), (216, 231, 188)),
            (32 * PERIOD, (1359, 2, true), true, 0, (36_812_216, 53_239_222, 28_328_769), (787, 1139, 606)),
        ],
    );
}

#[test]
fn a15_g_duty_cycles() {
    let pelt = pelt();
    for (run_ms, of_ms, after_run, at_wake) in [
        (5, 10, 538, 485),
        (2, 10, 222, 188),
        (8, 16, 554, 469),
        (10, 20, 564, 459),
        (1, 4, 264, 248),
        (3, 100, 70, 9),
    ] {
        let (mut avg, mut seen) = (Avg::default(), 0);
        for cycle in 0..100 {
            step(&pelt, &mut avg, (cycle * of_ms + run_ms) * MS, true);
            seen = avg.util;
            step(&pelt, &mut avg, (cycle + 1) * of_ms * MS, false);
        }
        assert_eq!((seen, avg.util), (after_run, at_wake), "{run_ms} of {of_ms} ms");
    }
}

#[test]
fn a15_h_the_clock_of_a_small_slow_cpu() {
    let (pelt, mut rq) = (pelt(), Rq::new(160));
    pelt.switch(&mut rq, None, idlewise_signal::pelt::Next::RealTime);
    rq.set_speed(Speed { capacity: 160, frequency: 512 });
    pelt.pass(&mut rq, MS, 0, 0);
    assert_eq!(rq.clock().now_ns(), 78_125);
    assert_eq!(rq.clock().task_ns, MS);
}

/// A1 makes the tables; what 1 << 20 is divided by in them shows in a sum that decays.
#[test]
fn a1_tables_are_those_of_the_formula() {
    for (half_life, half, sum_max) in
        [(HalfLife::Ms32, 32, 47_742), (HalfLife::Ms16, 16, 24_130), (HalfLife::Ms8, 8, 12_326)]
    {
        let config = Config::kernel(6, 12).unwrap().with_half_life(half_life);
        let pelt = Pelt::new(config).unwrap();
        assert_eq!(config.sum_max, sum_max);
        let left =
            |n: u32| ((f64::from(u32::MAX)) * 0.5f64.powf(f64::from(n) / f64::from(half))).floor() as u64;
        for n in 0..half {
            assert_eq!(pelt.decay(1 << 32, u64::from(n)), left(n), "y^{n} of {half}");
        }
        let mut most = 1024u64;
        while most != ((most * left(1)) >> 32) + 1024 {
            most = ((most * left(1)) >> 32) + 1024;
        }
        assert_eq!(most, u64::from(sum_max));
    }
}

#[test]
fn a2_decay_has_no_special_cases_and_ends() {
    let pelt = pelt();
    assert_eq!(pelt.decay(1000, 0), 999, "even no periods lose a little");
    assert_eq!(pelt.decay(1000, 32), 499);
    assert_eq!(pelt.decay(u64::MAX, 32 * 63), 0);
    assert_eq!(pelt.decay(u64::MAX, 32 * 62), 2);
    assert_eq!(pelt.decay(u64::MAX, 32 * 63 + 1), 0);
    assert_eq!(pelt.decay(u64::MAX, u64::MAX), 0);
    assert_eq!(pelt.decay(u64::MAX, 1), ((u128::from(u64::MAX) * 0xfa83_b2da) >> 32) as u64);
}

/// A10: the real numbers that the integers follow.
#[test]
fn a10_closed_forms_of_rise_and_decay() {
    for half_life in [HalfLife::Ms32, HalfLife::Ms16, HalfLife::Ms8] {
        let half = [32.0, 16.0, 8.0][half_life as usize];
        let pelt = Pelt::new(Config::kernel(6, 12).unwrap().with_half_life(half_life)).unwrap();
        let (mut up, mut down) = (Avg::default(), Avg::default());
        down.util_sum = (pelt.config().sum_max - 1024) * 1024;
        for t in 1..=200u64 {
            step(&pelt, &mut up, t * PERIOD, true);
            step(&pelt, &mut down, t * PERIOD, false);
            let left = 0.5f64.powf(t as f64 / half);
            let near = |util: u64, form: f64| (util as f64 - form).abs() < 3.0;
            assert!(near(up.util, 1024.0 * (1.0 - left)), "{half_life:?} up, {t}: {}", up.util);
            assert!(near(down.util, 1024.0 * left), "{half_life:?} down, {t}: {}", down.util);
        }
    }
}

/// A11: a faster clock is a shorter half-life in another way; the periods are shorter, too.
#[test]
fn a11_a_faster_clock_halves_in_16_or_8_ms() {
    for shift in [0u32, 1, 2] {
        let pelt = Pelt::new(Config::kernel(6, 12).unwrap().with_clock_shift(shift)).unwrap();
        let mut rq = Rq::new(1024);
        pelt.switch(&mut rq, None, idlewise_signal::pelt::Next::RealTime);
        let periods = 32 >> shift;
        for t in 1..=periods {
            pelt.pass(&mut rq, t * PERIOD, 0, 0);
            pelt.tick(&mut rq, None);
        }
        assert!(rq.real_time().util.abs_diff(512) <= 1, "{shift}: {}", rq.real_time().util);
        assert_eq!(rq.clock().now_ns(), 32 * PERIOD);
        assert_eq!(rq.clock().task_ns, periods * PERIOD);
    }
}

/// A16 with the arithmetic of the kernel: updates every millisecond.
#[test]
fn a16_times_that_are_quoted_of_pelt() {
    let pelt = pelt();
    let first = |start: Avg, runs: bool, reached: &dyn Fn(u64) -> bool| {
        let mut avg = start;
        (1..).find(|ms| {
            step(&pelt, &mut avg, ms * MS, runs);
            avg.util != start.util && reached(avg.util)
        })
    };
    assert_eq!(first(Avg::default(), true, &|u| u >= 819), Some(78));
    assert_eq!(first(Avg::default(), true, &|u| u >= 973), Some(145));
    assert_eq!(first(full(), false, &|u| u <= 102), Some(112));
    assert_eq!(first(full(), false, &|u| u <= 10), Some(220));
    assert_eq!(first(full(), false, &|u| u == 0), Some(336));
}

/// A16, last sentence: the fixed divider of 4.12 and before.
#[test]
fn a16_times_of_a_kernel_before_4_13() {
    let pelt = Pelt::kernel(4, 8).unwrap();
    let first = |every_ns: u64, least: u64| {
        let mut avg = Avg::default();
        let step = (1..).find(|k| step(&pelt, &mut avg, k * every_ns, true) && avg.util >= least);
        step.unwrap() * every_ns
    };
    assert_eq!(first(PERIOD, 819) / 100_000, 828, "82.8 ms to 80 %");
    assert!(first(PERIOD, 973).abs_diff(170 * MS) < 2 * MS, "{}", first(PERIOD, 973));
    assert!(first(MS, 973).abs_diff(151 * MS) < 2 * MS, "{}", first(MS, 973));
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let good = Config::kernel(6, 12).unwrap();
    for bad in [
        Config { clock_shift: 3, ..good },
        Config { sum_max: 47_741, ..good },
        Config { sum_max: 65_537, ..good },
        Config { half_life: HalfLife::Ms8, sum_max: 12_325, ..good },
        Config { estimate_flag: 2, ..good },
        Config { old_steps: true, ..good }.with_half_life(HalfLife::Ms16),
    ] {
        assert_eq!(Pelt::new(bad), Err(PeltError::Config), "{bad:?}");
    }
    // Old Android trees list these.
    for (half_life, sum_max) in [(HalfLife::Ms16, 24_152), (HalfLife::Ms8, 12_337)] {
        assert!(Pelt::new(Config { half_life, sum_max, ..good }).is_ok());
    }
    assert_eq!(Pelt::kernel(4, 2), Err(PeltError::Kernel(4, 2)));
    assert!(Pelt::kernel(4, 3).is_ok() && Pelt::kernel(7, 3).is_ok());
    assert_eq!(Pelt::new(*Pelt::default().config()), Pelt::kernel(6, 12));
}
