// SPDX-License-Identifier: GPL-2.0-only
//! Does a tape file give back exactly the tape that was written, or say why it cannot?

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use idlewise_model::{
    Change, Confidence, CpuTape, Health, HealthKind, MAX_STATES, Piece, PieceFlags, Source, Tape, TapeCpu,
    TapeInput, TickGrid, WakeCause,
};
use idlewise_tape::file::{TapeFileError, VERSION, is_tape, read, write};
use proptest::prelude::*;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

/// A tape's utilisation is at most this, its tick at least so long.
const UTIL_MAX: u16 = 1024;
const SHORTEST_TICK_NS: u64 = 10_000;

fn times() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..10_000_000_000, Just(0), Just(u64::MAX), any::<u64>()]
}

fn pieces() -> impl Strategy<Value = Piece> {
    let times = (times(), times(), any::<i64>(), any::<i64>());
    let lags = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
    let states = prop_oneof![0..MAX_STATES as u8, Just(Piece::NO_STATE), Just(Piece::NO_GOVERNOR)];
    let small = (0..=UTIL_MAX, any::<u16>(), states, 0u8..8, any::<u16>());
    (times, lags, small).prop_map(|((start_ns, wake_ns, hrtimer_ns, wheel_ns), lags, small)| Piece {
        start_ns,
        wake_ns,
        hrtimer_ns,
        wheel_ns,
        exit_lag_ns: lags.0,
        response_ns: lags.1,
        handler_ns: lags.2,
        entry_lag_ns: lags.3,
        util: small.0,
        iowait: small.1,
        state: small.2,
        cause: WakeCause::from_bits(small.3),
        flags: PieceFlags(small.4),
    })
}

fn changes<T: std::fmt::Debug>(values: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<Change<T>>> {
    prop::collection::vec((any::<u64>(), values).prop_map(|(at_ns, value)| Change { at_ns, value }), 0..4)
}

fn cpus() -> impl Strategy<Value = CpuTape> {
    let usable = prop_oneof![Just(TapeCpu::Usable), ".{0,20}".prop_map(TapeCpu::Unusable)];
    let grid = (SHORTEST_TICK_NS.., any::<u64>())
        .prop_map(|(period_ns, p)| TickGrid { period_ns, phase_ns: p % period_ns });
    let pieces = prop::collection::vec(pieces(), 0..20);
    let sends = prop::option::of((0..4_u16).prop_map(Confidence::from_bits));
    (any::<u32>(), usable, grid, any::<u32>(), pieces, changes(any::<i64>()), changes(any::<u16>()), sends)
        .prop_map(|(cpu, usable, tick, tick_handler_ns, pieces, latency, disabled, sends)| CpuTape {
            cpu,
            usable,
            tick,
            tick_handler_ns,
            pieces: pieces.into(),
            latency,
            disabled,
            sends,
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
    let input = (".{0,9}", any::<[u64; 4]>(), ".{0,9}").prop_map(|(name, counts, how)| TapeInput {
        name,
        counts,
        how,
    });
    let inputs = prop::collection::vec(input, 0..3);
    let notes = prop::collection::vec(".{0,9}", 0..3);
    (texts, any::<[u64; 3]>(), inputs, notes, health(), prop::collection::vec(cpus(), 0..4)).prop_map(
        |(texts, numbers, inputs, notes, health, cpus)| {
            let text = |i: usize| texts[i].clone();
            let source = Source {
                name: text(0),
                hash: text(1),
                format: text(2),
                kernel: text(3),
                clock: text(4),
                first_ns: numbers[0],
                last_ns: numbers[1],
                events: numbers[2],
                machine: text(5),
                governor: text(6),
            };
            Tape { source, inputs, notes, health, cpus }
        },
    )
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
        source: Source { name: "a.dat".into(), hash: "00ff".into(), events: 12, ..Source::default() },
        inputs: vec![TapeInput { name: "wake".into(), counts: [1, 2, 3, 4], how: "so".into() }],
        notes: vec!["a note".into()],
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
        }],
    }
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
        let error = read(&other).unwrap_err();
        assert!(matches!(error, TapeFileError::Version { found } if found == version));
        let text = error.to_string();
        assert!(text.contains(&version.to_string()) && text.contains("make the tape again"), "{text}");
    }
}

/// Changes stay `n` of the first CPU.
fn change(tape: &mut Tape, n: usize, how: impl Fn(&mut Piece)) {
    let mut pieces = tape.cpus[0].pieces.to_vec();
    how(&mut pieces[n]);
    tape.cpus[0].pieces = pieces.into();
}

#[test]
fn two_tapes_that_differ_in_one_number_are_two_files() {
    let bytes = write(&small()).unwrap();
    let changes: [fn(&mut Tape); 12] = [
        |t| t.source.first_ns += 1,
        |t| t.source.governor.push('x'),
        |t| t.inputs[0].counts[3] += 1,
        |t| t.notes.push(String::new()),
        |t| t.health.add(HealthKind::LostEvents, 1, String::new),
        |t| t.cpus[0].usable = TapeCpu::Unusable(String::new()),
        |t| t.cpus[0].tick.phase_ns += 1,
        |t| change(t, 3, |p| p.wheel_ns = -1),
        |t| change(t, 19, |p| p.handler_ns += 1),
        |t| change(t, 0, |p| p.flags.set(PieceFlags::AFTER_GAP, true)),
        |t| t.cpus[0].latency[0].value = -1,
        |t| t.cpus[0].disabled[0].at_ns += 1,
    ];
    for (i, change) in changes.iter().enumerate() {
        let mut other = small();
        change(&mut other);
        let written = write(&other).unwrap();
        assert_ne!(written, bytes, "change {i}");
        assert_eq!(read(&written).unwrap(), other, "change {i}");
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
fn columns_of_different_length_are_refused() {
    // One stay, and one column after the other left empty.
    let one = |filled: bool| if filled { vec![0u8] } else { Vec::new() };
    for missing in 0..13 {
        let mut plain = with(with(head(), &1u64), &(0u32, None::<String>, 4u64, 0u64, 0u32, 0u8, 0u8, 0u8));
        for column in 0..13 {
            // A column of one zero is the same bytes whatever its type.
            plain.extend(postcard::to_stdvec(&one(column != missing)).unwrap());
        }
        let error = read(&sealed(&plain)).unwrap_err();
        assert!(error.to_string().contains("columns of different length"), "column {missing}: {error}");
    }
}

#[test]
fn a_tick_without_period_is_refused() {
    let plain = with(with(head(), &1u64), &(5u32, None::<String>, 0u64, 0u64, 0u32, 0u8, 0u8, 0u8));
    let error = read(&sealed(&with(plain, &[0u8; 13]))).unwrap_err();
    assert!(error.to_string().contains("CPU 5"), "{error}");
}

#[test]
fn a_health_counter_of_another_program_is_refused_by_name() {
    let mut plain = postcard::to_stdvec(&(("", "", "", "", ""), (0u64, 0u64, 0u64, "", ""))).unwrap();
    plain.extend(postcard::to_stdvec(&(0u8, 0u8, [("sunspots", 1u64, "")].as_slice(), 0u8)).unwrap());
    let error = read(&sealed(&plain)).unwrap_err();
    assert!(error.to_string().contains("sunspots"), "{error}");
}
