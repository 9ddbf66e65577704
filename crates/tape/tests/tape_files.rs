// SPDX-License-Identifier: GPL-2.0-only
//! Does a tape file give back exactly the tape that was written, or say why it cannot?

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use idlewise_model::{
    Change, Confidence, CpuTape, HIGHEST_CPU, Health, HealthKind, LATEST_NS, MAX_STATES, NEVER_NS,
    NO_LATENCY_LIMIT_NS, NoteId, Piece, PieceFlags, Source, Tape, TapeCpu, TapeInput, TickGrid, WakeCause,
};
use idlewise_tape::file::{TapeFileError, VERSION, is_tape, read, write};
use proptest::prelude::*;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

/// A tape's utilisation is at most this, its ticks between these.
const UTIL_MAX: u16 = 1024;
const TICK_NS: std::ops::RangeInclusive<u64> = 10_000..=1_000_000_000;
const HOUR_NS: u64 = 3_600_000_000_000;

fn timer() -> impl Strategy<Value = i64> {
    let far = LATEST_NS.cast_signed();
    prop_oneof![-1_000_000i64..10_000_000_000, Just(NEVER_NS), -far..=far]
}

/// A piece, and how long before it the one before ended.
fn pieces() -> impl Strategy<Value = (u64, Piece)> {
    let gap = prop_oneof![4 => 0u64..10_000_000_000, 1 => Just(0), 1 => 0..2 * HOUR_NS];
    let wake = prop_oneof![4 => 0u64..10_000_000_000, 1 => Just(0), 1 => 0..HOUR_NS - u64::from(u32::MAX)];
    let times = (gap, wake, timer(), timer(), timer());
    let lags = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
    let states = prop_oneof![0..MAX_STATES as u8, Just(Piece::NO_STATE), Just(Piece::NO_GOVERNOR)];
    let small = (0..=UTIL_MAX, any::<u16>(), states, 0u8..8, any::<u16>());
    (times, lags, small).prop_map(|((gap_ns, wake_ns, hrtimer_ns, wheel_ns, stale_event_ns), lags, small)| {
        let piece = Piece {
            start_ns: 0,
            wake_ns,
            hrtimer_ns,
            wheel_ns,
            stale_event_ns,
            exit_lag_ns: lags.0,
            response_ns: lags.1,
            handler_ns: lags.2,
            entry_lag_ns: lags.3,
            util: small.0,
            iowait: small.1,
            state: small.2,
            cause: WakeCause::from_bits(small.3),
            flags: PieceFlags(small.4),
        };
        (gap_ns, piece)
    })
}

/// The pieces one after the other, from a time that leaves room for all.
fn row(start_ns: u64, pieces: Vec<(u64, Piece)>) -> Vec<Piece> {
    let mut at_ns = start_ns;
    let place = |(gap_ns, piece): (u64, Piece)| {
        let piece = Piece { start_ns: at_ns + gap_ns, ..piece };
        at_ns = piece.exit_at_ns();
        piece
    };
    pieces.into_iter().map(place).collect()
}

fn start() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0u64..10_000_000_000, 0..LATEST_NS - 1000 * HOUR_NS]
}

fn changes<T: std::fmt::Debug>(values: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<Change<T>>> {
    let change = (0..LATEST_NS, values).prop_map(|(at_ns, value)| Change { at_ns, value });
    prop::collection::vec(change, 0..4).prop_map(|mut all| {
        all.sort_by_key(|c| c.at_ns);
        all
    })
}

fn cpus() -> impl Strategy<Value = Vec<CpuTape>> {
    let usable = prop_oneof![Just(TapeCpu::Usable), ".{0,20}".prop_map(TapeCpu::Unusable)];
    let grid =
        (TICK_NS, any::<u64>()).prop_map(|(period_ns, p)| TickGrid { period_ns, phase_ns: p % period_ns });
    let pieces = (start(), prop::collection::vec(pieces(), 0..20)).prop_map(|(at_ns, all)| row(at_ns, all));
    let limits = changes(0..=NO_LATENCY_LIMIT_NS);
    let sends = prop::option::of((0..4_u16).prop_map(Confidence::from_bits));
    let costs = (any::<u32>(), any::<u32>());
    let cpu = (usable, grid, costs, pieces, limits, changes(any::<u16>()), sends).prop_map(
        |(usable, tick, (tick_handler_ns, event_ns), pieces, latency, disabled, sends)| CpuTape {
            cpu: 0,
            usable,
            tick,
            tick_handler_ns,
            pieces: pieces.into(),
            latency,
            disabled,
            sends,
            event_ns,
        },
    );
    let numbers = prop::collection::btree_set(0..=HIGHEST_CPU, 0..4);
    (numbers, prop::collection::vec(cpu, 4)).prop_map(|(numbers, cpus)| {
        numbers.into_iter().zip(cpus).map(|(n, c)| CpuTape { cpu: n, ..c }).collect()
    })
}

fn health() -> impl Strategy<Value = Health> {
    prop::collection::vec((0usize..HealthKind::ALL.len(), 1u64..1 << 40, ".{0,10}"), 0..5).prop_map(|all| {
        let mut health = Health::default();
        for (kind, n, place) in all {
            health.add(HealthKind::ALL[kind], n, || place);
        }
        health
    })
}

fn tapes() -> impl Strategy<Value = Tape> {
    let texts = prop::collection::vec("(?s).{0,12}", 7);
    let input = (".{0,9}", prop::array::uniform4(0u64..100), ".{0,9}");
    let inputs = prop::collection::vec(input, 0..3);
    let ids = [NoteId::Reader, NoteId::Guest, NoteId::FarMark];
    let note = (prop::sample::select(ids.to_vec()), ".{0,9}").prop_map(|(id, words)| id.note(words));
    let notes = prop::collection::vec(note, 0..3);
    let times = prop::array::uniform3(0..LATEST_NS);
    (texts, times, inputs, notes, health(), cpus()).prop_map(|(texts, times, inputs, notes, health, cpus)| {
        let text = |i: usize| texts[i].clone();
        let source = Source {
            name: text(0),
            hash: text(1),
            format: text(2),
            kernel: text(3),
            clock: text(4),
            first_ns: times[0].min(times[1]),
            last_ns: times[0].max(times[1]),
            events: times[2],
            machine: text(5),
            governor: text(6),
        };
        let mut left: u64 = cpus.iter().map(|c| c.pieces.len() as u64).sum::<u64>().max(1);
        let inputs = inputs
            .into_iter()
            .map(|(name, counts, how)| {
                let counts = counts.map(|n| {
                    let n = n.min(left);
                    left -= n;
                    n
                });
                TapeInput { name, counts, how }
            })
            .collect();
        let stood_still_ns = (source.last_ns - source.first_ns) / 3;
        Tape { source, inputs, notes, health, cpus, stood_still_ns }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_tape_comes_back_as_it_was_and_gives_the_same_bytes_each_time(tape in tapes()) {
        let bytes = write(&tape).unwrap();
        prop_assert!(is_tape(&bytes));
        let back = read(&bytes).unwrap();
        prop_assert_eq!(&back, &tape);
        prop_assert_eq!(write(&back).unwrap(), bytes);
    }

    #[test]
    fn bytes_that_are_no_tape_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(read(&bytes).is_err());
        let mut named = b"IWTAPE\x02\0".to_vec();
        named.extend(&bytes);
        prop_assert!(read(&named).is_err());
    }
}

fn piece(start_ns: u64) -> Piece {
    Piece {
        start_ns,
        wake_ns: 1_000,
        hrtimer_ns: 1_000,
        wheel_ns: i64::MAX,
        stale_event_ns: i64::MAX,
        exit_lag_ns: 50,
        response_ns: 50,
        handler_ns: 5,
        entry_lag_ns: 2,
        util: 100,
        iowait: 0,
        state: 1,
        cause: WakeCause::Hrtimer,
        flags: PieceFlags(PieceFlags::VISIT_START | PieceFlags::VISIT_END),
    }
}

fn small() -> Tape {
    let mut health = Health::default();
    health.add(HealthKind::LostEvents, 3, || "CPU 0 at 1.000000000 s".to_owned());
    Tape {
        source: Source {
            name: "a.dat".into(),
            hash: "00ff".into(),
            events: 12,
            last_ns: 100_000,
            ..Source::default()
        },
        inputs: vec![TapeInput { name: "wake".into(), counts: [1, 2, 3, 4], how: "so".into() }],
        notes: vec![NoteId::Reader.note("a note")],
        health,
        cpus: vec![CpuTape {
            cpu: 0,
            usable: TapeCpu::Usable,
            tick: TickGrid { period_ns: 4_000_000, phase_ns: 7 },
            tick_handler_ns: 3,
            pieces: (0..20).map(|k| piece(5_000 * k)).collect(),
            latency: vec![Change { at_ns: 5, value: 0 }],
            disabled: vec![Change { at_ns: 6, value: 2 }],
            sends: Some(Confidence::Bounded),
            event_ns: 90,
        }],
        stood_still_ns: 5,
    }
}

#[test]
fn tapes_of_older_versions_are_read() {
    let mut tape = Tape { stood_still_ns: 0, ..small() };
    tape.cpus[0].event_ns = 0;
    let plain = plain_of(&write(&tape).unwrap());
    // Version 5 ends with 1 CPU, the time of an event, 0, and 20 idle periods without a stale event.
    let before_5 = plain.strip_suffix([[1, 0, 20].as_slice(), &[0; 20]].concat().as_slice()).unwrap();
    let before_4 = before_5.strip_suffix(&[0]).unwrap();
    for (version, plain) in [(3, before_4), (4, before_5), (VERSION, plain.as_slice())] {
        let mut old = sealed(plain);
        old[6..8].copy_from_slice(&u16::to_le_bytes(version));
        assert_eq!(read(&old).unwrap(), tape, "version {version}");
    }
    assert!(matches!(read(&sealed(before_5)), Err(TapeFileError::Content(_))));
}

#[test]
fn no_damaged_byte_gives_another_tape() {
    let tape = small();
    let bytes = write(&tape).unwrap();
    for at in 0..bytes.len() {
        for flip in (0..8).map(|bit| 1 << bit).chain([0xff]) {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            if let Ok(read) = read(&damaged) {
                assert_eq!(read, tape, "byte {at}, flip {flip:#x}");
            }
        }
    }
}

#[test]
fn a_tape_that_was_cut_or_grew_is_refused() {
    let bytes = write(&small()).unwrap();
    for len in 0..bytes.len() {
        assert!(read(&bytes[..len]).is_err(), "{len} of {} bytes", bytes.len());
    }
    let grown = [bytes.as_slice(), b"\0"].concat();
    assert!(matches!(read(&grown), Err(TapeFileError::Damaged { .. })));
}

#[test]
fn the_reasons_for_refusing_are_told_apart() {
    let bytes = write(&small()).unwrap();
    assert!(matches!(read(b""), Err(TapeFileError::NotATape)));
    assert!(matches!(read(b"\x17\x08\x44tracing6"), Err(TapeFileError::NotATape)));
    assert!(matches!(read(b"IWTAPE"), Err(TapeFileError::NotATape)));
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert!(matches!(read(&damaged), Err(TapeFileError::Damaged { .. })));
    for version in [0, VERSION + 1, u16::MAX] {
        let mut other = bytes.clone();
        other[6..8].copy_from_slice(&version.to_le_bytes());
        let Err(error @ TapeFileError::Version { .. }) = read(&other) else { panic!("version {version}") };
        let text = error.to_string();
        let (newer, older) =
            (text.contains("install a newer idlewise"), text.contains("make the tape again"));
        assert!(
            text.contains(&version.to_string()) && newer == (version > VERSION) && older != newer,
            "{text}"
        );
    }
}

/// Changes stay `n` of the first CPU.
fn change(tape: &mut Tape, n: usize, how: impl Fn(&mut Piece)) {
    let mut pieces = tape.cpus[0].pieces.to_vec().unwrap();
    how(&mut pieces[n]);
    tape.cpus[0].pieces = pieces.into();
}

#[test]
fn two_tapes_that_differ_in_one_number_are_two_files() {
    let bytes = write(&small()).unwrap();
    let changes: [fn(&mut Tape); 14] = [
        |t| t.source.first_ns += 1,
        |t| t.source.governor.push('x'),
        |t| t.inputs[0].counts[3] += 1,
        |t| t.notes.push(NoteId::Reader.note("")),
        |t| t.health.add(HealthKind::LostEvents, 1, String::new),
        |t| t.cpus[0].usable = TapeCpu::Unusable(String::new()),
        |t| t.cpus[0].tick.phase_ns += 1,
        |t| change(t, 3, |p| p.wheel_ns = -1),
        |t| change(t, 3, |p| p.stale_event_ns = 700),
        |t| change(t, 19, |p| p.handler_ns += 1),
        |t| change(t, 0, |p| p.flags.set(PieceFlags::AFTER_GAP, true)),
        |t| t.cpus[0].latency[0].value = 1,
        |t| t.cpus[0].disabled[0].at_ns += 1,
        |t| t.cpus[0].event_ns += 1,
    ];
    for (i, change) in changes.iter().enumerate() {
        let mut other = small();
        change(&mut other);
        let written = write(&other).unwrap();
        assert_ne!(written, bytes, "change {i}");
        assert_eq!(read(&written).unwrap(), other, "change {i}");
    }
}

/// Changes a tape into one that cannot be.
type Absurdity = fn(&mut Tape);

#[test]
fn absurd_numbers_are_refused_by_place_with_what_was_expected() {
    let absurd: [(Absurdity, &[&str]); 25] = [
        (|t| t.source.last_ns = LATEST_NS, &["from 0 ns", "below 2305843009213693952 ns"]),
        (|t| t.source.first_ns = 100_001, &["from 100001 ns to 100000 ns", "in order"]),
        (|t| t.source.events = u64::MAX, &["18446744073709551615 events"]),
        (|t| t.inputs[0].counts = [u64::MAX, u64::MAX, 0, 0], &["input \"wake\"", "its 20 idle periods"]),
        (|t| t.inputs[0].counts = [0, 21, 0, 0], &["input \"wake\"", "its 20 idle periods"]),
        (|t| t.cpus[0].cpu = HIGHEST_CPU + 1, &["CPU 65536", "up to 65535"]),
        (|t| t.cpus.push(t.cpus[0].clone()), &["CPU 0 follows CPU 0"]),
        (|t| t.cpus[0].tick.period_ns = 9_999, &["CPU 0", "every 9999 ns", "10000 ns to 1000000000 ns"]),
        (|t| t.cpus[0].tick.period_ns = u64::MAX, &["CPU 0", "10000 ns to 1000000000 ns"]),
        (|t| t.cpus[0].tick.phase_ns = 4_000_000, &["CPU 0", "the first at 4000000 ns"]),
        (|t| t.cpus[0].latency[0].value = -1, &["CPU 0", "latency limit, change 1", "-1 ns"]),
        (|t| t.cpus[0].latency[0].value = i64::MAX, &["CPU 0", "latency limit, change 1"]),
        (|t| t.cpus[0].latency[0].at_ns = LATEST_NS, &["CPU 0", "latency limit, change 1"]),
        (
            |t| t.cpus[0].disabled.push(Change { at_ns: 5, value: 0 }),
            &["CPU 0", "disabled states, change 2", "6 ns or later"],
        ),
        (|t| change(t, 19, |p| p.start_ns = LATEST_NS), &["CPU 0", "idle period 20 of 20", "an end below"]),
        (|t| change(t, 19, |p| p.start_ns = u64::MAX), &["CPU 0", "idle period 20 of 20", "an end below"]),
        (|t| change(t, 19, |p| p.wake_ns = u64::MAX), &["CPU 0", "idle period 20 of 20", "an end below"]),
        (|t| change(t, 19, |p| p.wake_ns = HOUR_NS), &["CPU 0", "idle period 20 of 20", "an hour at most"]),
        (|t| change(t, 3, |p| p.wake_ns = 6_000), &["CPU 0", "idle period 5 of 20", "21050 ns or later"]),
        (|t| change(t, 3, |p| p.hrtimer_ns = NEVER_NS - 1), &["CPU 0", "idle period 4 of 20", "hrtimer"]),
        (|t| change(t, 3, |p| p.wheel_ns = i64::MIN), &["CPU 0", "idle period 4 of 20", "wheel"]),
        (|t| change(t, 3, |p| p.stale_event_ns = -i64::MAX), &["CPU 0", "idle period 4 of 20", "programmed"]),
        (|t| change(t, 3, |p| p.util = UTIL_MAX + 1), &["CPU 0", "idle period 4 of 20", "1024"]),
        (|t| change(t, 3, |p| p.state = MAX_STATES as u8), &["CPU 0", "idle period 4 of 20", "one of 10"]),
        (
            |t| {
                let far = |n: u64| Piece { wake_ns: HOUR_NS - 50, ..piece(n * 2 * HOUR_NS) };
                t.cpus[0].pieces = (0..LATEST_NS / (4 * HOUR_NS) + 2).map(far).collect();
                t.cpus.push(CpuTape { cpu: 1, ..t.cpus[0].clone() });
            },
            &["CPU 1", "idle periods of all CPUs", "fewer than 2305843009213693952"],
        ),
    ];
    for (n, (change, words)) in absurd.iter().enumerate() {
        let mut tape = small();
        change(&mut tape);
        let error = read(&write(&tape).unwrap()).expect_err(&format!("number {n}: {words:?}")).to_string();
        let missing = words.iter().find(|w| !error.contains(**w));
        assert!(error.starts_with("tape content: ") && missing.is_none(), "number {n}: {error}");
    }
    let bytes = write(&small()).unwrap();
    let mut plain = plain_of(&bytes);
    let second = postcard::to_stdvec(&5_000u64).unwrap();
    let at = plain.windows(4).position(|w| w == [second.as_slice(), second.as_slice()].concat()).unwrap();
    plain.splice(at..at + second.len(), postcard::to_stdvec(&(u64::MAX - 1)).unwrap());
    let error = read(&sealed(&plain)).unwrap_err().to_string();
    assert!(error.contains("CPU 0, idle period 3: begins at a time that is no number of 64 bits"), "{error}");
}

/// What is not small in memory, kB: the most that this process ever had.
fn most_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("IDLEWISE_FUZZ_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// The content of a valid file with bytes changed, put in and taken out, sealed as if it were whole.
    #[test]
    fn changed_bytes_are_refused_or_give_a_tape_that_can_be_written_again(
        tape in tapes(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0usize..10), 1..4),
    ) {
        let mut plain = plain_of(&write(&tape).unwrap());
        for (at, byte, times) in changes {
            let at = at.index(plain.len());
            // Long numbers are rows of bytes with the highest bit set.
            let row = std::iter::repeat_n(byte | 0x80, times).chain((times != 9).then_some(byte & 0x7f));
            plain.splice(at..=at, row);
            if plain.is_empty() {
                plain.push(0);
            }
        }
        let before_kb = most_memory_kb();
        if let Ok(read_back) = read(&sealed(&plain)) {
            prop_assert_eq!(read(&write(&read_back).unwrap()).unwrap(), read_back);
        }
        prop_assert!(most_memory_kb() < before_kb + (32 << 10), "{} bytes took so much memory", plain.len());
    }
}

// ---- Files with a right checksum and a wrong content, as only malice or another program makes them.

/// A tape file whose content is `plain`.
fn sealed(plain: &[u8]) -> Vec<u8> {
    let packed = zstd::bulk::compress(plain, 3).unwrap();
    let mut out = b"IWTAPE".to_vec();
    out.extend(VERSION.to_le_bytes());
    out.extend(xxh3_64(&packed).to_le_bytes());
    out.extend(packed);
    out
}

fn plain_of(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::decode_all(&bytes[16..]).unwrap()
}

/// What stands before the CPUs in a tape of nothing: ten texts and numbers of the source, inputs, notes, health.
fn head() -> Vec<u8> {
    let texts = ("", "", "", "", "");
    postcard::to_stdvec(&(
        (texts, 0u64, 0u64, 0u64, "", ""),
        [(); 0].as_slice(),
        [(); 0].as_slice(),
        [(); 0].as_slice(),
    ))
    .unwrap()
}

fn with<T: Serialize>(mut head: Vec<u8>, more: &T) -> Vec<u8> {
    head.extend(postcard::to_stdvec(more).unwrap());
    head
}

#[test]
fn a_note_of_an_unknown_kind_is_refused() {
    let mut plain = plain_of(&write(&small()).unwrap());
    let at = plain.windows(6).position(|w| w == b"reader").unwrap();
    plain[at] = b'l';
    let refused = read(&sealed(&plain));
    assert!(
        matches!(&refused, Err(TapeFileError::Content(why)) if why.contains("\"leader\"")),
        "{refused:?}"
    );
}

#[test]
fn content_that_ends_early_anywhere_is_refused() {
    let plain = plain_of(&write(&small()).unwrap());
    for len in 0..plain.len() {
        assert!(matches!(read(&sealed(&plain[..len])), Err(TapeFileError::Content(_))), "{len} bytes");
    }
    assert!(read(&sealed(&plain)).is_ok());
}

#[test]
fn claims_of_huge_lengths_are_refused_without_taking_the_memory() {
    let claim = |n: u64| sealed(&with(head(), &n));
    for n in [2, 1 << 20, 1 << 40, u64::MAX] {
        assert!(matches!(read(&claim(n)), Err(TapeFileError::Content(_))), "{n} CPUs");
    }
    // One CPU without changes and sends that claims so many stays.
    let cpu = (0u32, None::<String>, 4u64, 0u64, 0u32, 0u8, 0u8, 0u8);
    for n in [1u64, 1 << 32, 1 << 60, u64::MAX] {
        let plain = with(with(with(head(), &1u64), &cpu), &n);
        assert!(matches!(read(&sealed(&plain)), Err(TapeFileError::Content(_))), "{n} stays");
    }
    // A text.
    for n in [1u64, 1 << 40, u64::MAX] {
        let plain = postcard::to_stdvec(&n).unwrap();
        assert!(matches!(read(&sealed(&plain)), Err(TapeFileError::Content(_))), "a name of {n} bytes");
    }
}

#[test]
fn a_packed_frame_that_claims_a_huge_size_is_refused() {
    // A zstd frame header with an 8-byte content size and no content.
    let mut packed = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
    packed.extend(u64::MAX.to_le_bytes());
    let mut file = b"IWTAPE".to_vec();
    file.extend(VERSION.to_le_bytes());
    file.extend(xxh3_64(&packed).to_le_bytes());
    file.extend(&packed);
    assert!(matches!(read(&file), Err(TapeFileError::Content(_))));
}

#[test]
fn content_that_grows_without_end_is_refused_and_not_written() {
    let bomb = sealed(&vec![0; 100 << 20]);
    let before_kb = most_memory_kb();
    let error = read(&bomb).unwrap_err().to_string();
    assert!(error.contains("unpacks to more than") && bomb.len() < 20_000, "{error}");
    assert!(most_memory_kb() < before_kb + (64 << 10));
    // Idle periods that are all alike come back, as long as they are not millions.
    let alike = |n: u64| {
        let mut tape = small();
        tape.cpus[0].pieces = (0..n).map(|k| piece(5_000 * k)).collect();
        tape
    };
    let tape = alike(200_000);
    assert_eq!(read(&write(&tape).unwrap()).unwrap(), tape);
    let error = write(&alike(2_000_000)).unwrap_err().to_string();
    assert!(error.contains("all alike"), "{error}");
}

#[test]
fn columns_of_different_length_are_refused() {
    // One stay, and one column after the other left empty.
    let one = |filled: bool| if filled { vec![0u8] } else { Vec::new() };
    for missing in 0..14 {
        let mut plain = with(with(head(), &1u64), &(0u32, None::<String>, 4u64, 0u64, 0u32, 0u8, 0u8, 0u8));
        for column in 0..13 {
            // A column of one zero is the same bytes whatever its type.
            plain.extend(postcard::to_stdvec(&one(column != missing)).unwrap());
        }
        let plain = with(with(plain, &(0u64, 1u64, 0u32)), &one(missing != 13));
        let error = read(&sealed(&plain)).unwrap_err();
        assert!(error.to_string().contains("columns of different length"), "column {missing}: {error}");
    }
}

#[test]
fn a_tick_without_period_is_refused() {
    let plain = with(with(head(), &1u64), &(5u32, None::<String>, 0u64, 0u64, 0u32, 0u8, 0u8, 0u8));
    let plain = with(with(plain, &[0u8; 14]), &(1u64, 0u32, 0u64));
    let error = read(&sealed(&plain)).unwrap_err();
    assert!(error.to_string().contains("CPU 5"), "{error}");
}

#[test]
fn a_health_counter_of_another_program_is_refused_by_name() {
    let mut plain = postcard::to_stdvec(&(("", "", "", "", ""), (0u64, 0u64, 0u64, "", ""))).unwrap();
    plain.extend(
        postcard::to_stdvec(&(0u8, 0u8, [("sunspots", 1u64, "")].as_slice(), 0u8, 0u64, 0u64)).unwrap(),
    );
    let error = read(&sealed(&plain)).unwrap_err();
    assert!(error.to_string().contains("sunspots"), "{error}");
}
