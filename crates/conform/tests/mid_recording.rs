// SPDX-License-Identifier: GPL-2.0-only
//! A recording begins while a governor is at work: what it has counted towards its next move is not known then.

use idlewise_conform::decision::Decisions as _;
use idlewise_conform::follow;
use idlewise_conform::tape_decisions::TapeDecisions;
use idlewise_governor::{Governor, Inputs, Spec};
use idlewise_idle::{Chooser as _, Hosted, Moment, NEVER_AT_NS, TickAhead, Timers};
use idlewise_model::{
    Confidence, CpuTape, Health, NEVER_NS, NO_LATENCY_LIMIT_NS, Piece, PieceFlags, Source, Tape, TapeCpu,
    TapeInput, TickGrid, WakeCause,
};
use idlewise_platform::Cluster;

/// HZ 250.
const T: u64 = 4_000_000;
const TICK: u64 = 1_000_000_700;

/// The choices of a ladder that has always been in charge, for idle periods of these lengths. Before every `taken_back`th another choice
/// is taken back, of which no recording has anything.
fn choices(ladder: &Governor, cluster: &Cluster, lengths_ns: &[u64], taken_back: usize) -> Vec<u8> {
    choices_of(ladder, cluster, lengths_ns, taken_back, |_| 0)
}

/// The same of any governor; `util` is what it is given at each.
fn choices_of(
    governor: &Governor,
    cluster: &Cluster,
    lengths_ns: &[u64],
    taken_back: usize,
    util: impl Fn(usize) -> u32,
) -> Vec<u8> {
    let job = |loader: &idlewise_governor::Loader<'_>| {
        let mut instance = loader.load(T)?;
        let slot = instance.add_cpu(0, &cluster.table, cluster.capacity)?;
        let mut start_ns = TICK + 1_000;
        let choice = |(n, &ns): (usize, &u64)| {
            let mut governor = Hosted::new(&mut instance, slot);
            let inputs = Inputs {
                now_ns: start_ns,
                latency_limit_ns: NO_LATENCY_LIMIT_NS,
                sleep_length_ns: 50_000_000,
                delta_tick_ns: 50_000_000,
                util: util(n),
                tick_stopped: true,
                ..Inputs::default()
            };
            let moment = Moment {
                start_ns: TICK,
                timers: Timers::Known { sleep_length_ns: NEVER_NS, delta_tick_ns: NEVER_NS },
                latency_limit_ns: NO_LATENCY_LIMIT_NS,
                util: 0,
                iowait: 0,
                random: 0,
                wake_at_ns: NEVER_AT_NS,
                stop_pays: true,
            };
            let tick = TickAhead { due_ns: NEVER_AT_NS, may_stop: true };
            if n % taken_back == taken_back - 1 {
                governor.select(&inputs, &moment, tick);
                governor.device().last_residency_ns = 0;
            }
            let state = governor.select(&inputs, &moment, tick).index;
            governor.device().last_residency_ns = ns.cast_signed();
            governor.reflect(state as usize, start_ns + ns);
            start_ns += ns + 100_000;
            state as u8
        };
        Ok(lengths_ns.iter().enumerate().map(choice).collect::<Vec<u8>>())
    };
    governor.run(job).unwrap()
}

/// The same as a recording shows it.
fn pieces(lengths_ns: &[u64], choices: &[u8]) -> Vec<Piece> {
    let mut flags = PieceFlags(PieceFlags::VISIT_START | PieceFlags::VISIT_END);
    flags.set_timer_confidence(Confidence::Derived);
    let mut start_ns = TICK + 1_000;
    let piece = |(&ns, &state): (&u64, &u8)| {
        let piece = Piece {
            start_ns,
            wake_ns: ns - 1_000,
            hrtimer_ns: 50_000_000,
            wheel_ns: NEVER_NS,
            stale_event_ns: NEVER_NS,
            exit_lag_ns: 1_000,
            response_ns: 1_000,
            handler_ns: 0,
            entry_lag_ns: 0,
            util: 0,
            iowait: 0,
            state,
            cause: WakeCause::Irq,
            flags,
        };
        start_ns += ns + 100_000;
        piece
    };
    lengths_ns.iter().zip(choices).map(piece).collect()
}

#[test]
fn a_ladder_is_followed_from_wherever_the_recording_begins() {
    let machine = idlewise_platform::find("skylake").unwrap();
    let cluster = &machine.clusters[0];
    let ladder = Governor::find(&Spec::new("ladder")).unwrap();
    // Some let it climb, and one sends it down again.
    let round = [900_000, 700_000, 60_000, 300_000, 5_000, 20_000, 90_000, 11_000, 400_000];
    let lengths_ns: Vec<u64> = round.into_iter().cycle().take(900).collect();
    let choices = choices(&ladder, cluster, &lengths_ns, usize::MAX);
    let moves = choices.windows(2).filter(|w| w[0] != w[1]).count();
    assert!(moves > 100, "the load makes it move: {moves}");
    let all = pieces(&lengths_ns, &choices);
    for first in 0..40 {
        let (other, compared) = followed(&ladder, cluster, &all[first..]);
        assert!(other <= 2 && compared > 600, "{other} of {compared} from {first} on");
    }
}

/// Choices of `pieces` that are another state, and all that are compared.
fn followed(ladder: &Governor, cluster: &Cluster, pieces: &[Piece]) -> (u64, u64) {
    let tape = tape(pieces);
    let decisions = TapeDecisions::new(&tape, cluster, None).unwrap();
    assert!(decisions.begins_in_charge());
    let agreement = ladder.run(|loader| follow(loader, &decisions)).unwrap();
    (agreement.other_state, agreement.decisions)
}

fn tape(pieces: &[Piece]) -> CpuTape {
    CpuTape {
        cpu: 0,
        usable: TapeCpu::Usable,
        tick: TickGrid { period_ns: T, phase_ns: TICK % T },
        tick_handler_ns: 0,
        pieces: pieces.to_vec().into(),
        latency: vec![],
        disabled: vec![],
        sends: None,
        event_ns: 0,
    }
}

#[test]
fn a_ladder_that_loses_step_is_followed_from_the_kernels_next_move() {
    let machine = idlewise_platform::find("skylake").unwrap();
    let cluster = &machine.clusters[0];
    let ladder = Governor::find(&Spec::new("ladder")).unwrap();
    let round = [60_000, 61_000, 60_500, 62_000, 60_000, 61_500, 60_700, 150_000];
    let lengths_ns: Vec<u64> = round.into_iter().cycle().take(1_200).collect();
    let choices = choices(&ladder, cluster, &lengths_ns, 101);
    let (other, compared) = followed(&ladder, cluster, &pieces(&lengths_ns, &choices));
    assert!(compared >= 1_190 && other <= 3 * 1_200 / 101, "{other} of {compared}");
}

#[test]
fn a_utilisation_from_before_the_recording_excuses_its_first_choices_and_no_others() {
    let machine = idlewise_platform::find("skylake").unwrap();
    let cluster = &machine.clusters[0];
    let teo_util = Governor::find(&Spec::new("teo-util")).unwrap();
    let lengths_ns = [900_000; 600];
    // One ms and 100 us each; the kernel's is full at first, or later on, where the tape has none.
    let disagreeing = |busy: std::ops::Range<usize>, recorded: bool| {
        let util = |n: usize| if busy.contains(&n) { 1024 } else { 0 };
        let mut pieces = pieces(&lengths_ns, &choices_of(&teo_util, cluster, &lengths_ns, usize::MAX, util));
        pieces
            .iter_mut()
            .for_each(|p| p.flags.set(PieceFlags::STOPPED_BEFORE | PieceFlags::STOPPED_AFTER, true));
        let cpu = tape(&pieces);
        let how = if recorded { [600, 0, 0, 0] } else { [0, 0, 600, 0] };
        let input = TapeInput { name: "utilisation".to_owned(), counts: how, how: String::new() };
        let whole = Tape {
            source: Source { first_ns: TICK, ..Source::default() },
            inputs: vec![input],
            notes: vec![],
            health: Health::default(),
            cpus: vec![],
            stood_still_ns: 0,
        };
        let decisions = TapeDecisions::new(&cpu, cluster, None).unwrap().doubting_util(&whole);
        let agreement = teo_util.run(|loader| follow(loader, &decisions)).unwrap();
        (agreement.other_state, agreement.unknown_state)
    };
    let (other, unknown) = disagreeing(20..150, false);
    assert!(other == 0 && (130..260).contains(&unknown), "{other} {unknown}");
    let (other, _) = disagreeing(20..150, true);
    assert!(other >= 130, "{other}");
    let (other, _) = disagreeing(420..550, false);
    assert!(other >= 130, "{other}");
}
