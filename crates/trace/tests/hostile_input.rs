// SPDX-License-Identifier: GPL-2.0-only
//! Does any damage to a file make the reader panic, hang, or allocate what a length field claims?
//!
//! `IDLEWISE_FUZZ_INPUTS=100000 cargo test --release -p idlewise-trace --test trace hostile_input::` runs that many inputs;
//! with `IDLEWISE_FUZZ_CORPUS=DIR` the undamaged files are written to DIR, to start the fuzz target of `fuzz/` from.

use crate::common;

use std::path::Path;

use common::damage::{Chance, damage, inputs, survives};
use common::proto;
use common::writer::directory::Shape;
use common::writer::perf::{self, Perf, small_perf};
use common::writer::samples::small;
use common::writer::{Dat, Packed};
use idlewise_trace::TraceFile;

/// Reads all there is, within bounds that no honest file of this size reaches.
fn read(bytes: Vec<u8>) -> u64 {
    let len = bytes.len();
    match TraceFile::from_bytes(Path::new("hostile.dat"), bytes) {
        Ok(file) => read_all(&file, len),
        Err(_) => 0,
    }
}

fn read_all(file: &TraceFile, len: usize) -> u64 {
    let mut events = file.events().unwrap();
    let mut n = 0u64;
    for _ in events.by_ref() {
        n += 1;
        // An event takes four bytes at least; zstd packs well, but not a thousand times beyond its grant.
        assert!(n < 1000 * (len as u64 + 4096), "more events than the file can hold");
    }
    let _ = (events.health(), events.counts(), events.irq_name(19));
    let _ = (file.meta().function(0xffff_1fff), file.meta().function(1));
    n
}

/// Small files of every shape, from the writer and cut from real ones.
fn bases() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for (version, packed) in [(6, Packed::No), (7, Packed::No), (7, Packed::Zlib), (7, Packed::Zstd)] {
        let options = vec![
            (1, b"0x10\0".to_vec()),
            (2, b"CPU: 0\nentries: 3\noverrun: 1\n\0".to_vec()),
            (14, [1u32, 2, 3, 4].map(u32::to_le_bytes).concat()),
            (2, b"\nBuffer: a\n\n\0".to_vec()),
            // The shift of a guest's two CPUs, and a guest of a host.
            (12, [7u32, 0, 0, 2, 1, 5, 0, 9, 0, 1, 0, 1, 5, 0, 9, 0, 1, 0].map(u32::to_le_bytes).concat()),
            (13, [b"guest\0".as_slice(), &[1u32, 0, 1, 0, 99].map(u32::to_le_bytes).concat()].concat()),
        ];
        let mut dat = Dat { version, packed, page_size: 512, ..small() };
        dat.options.extend(options);
        all.push(dat.write());
        all.push(Dat { big_endian: true, ..dat.clone() }.write());
        all.push(Dat { backwards: true, instances: vec![("a".into(), small().cpus)], ..dat }.write());
    }
    all.extend(perfetto());
    for big_endian in [false, true] {
        for pipe in [false, true] {
            all.push(Perf { pipe, ..small_perf(big_endian) }.write());
            let packed = if big_endian { perf::Packed::New } else { perf::Packed::Old };
            all.push(Perf { pipe, packed, ..small_perf(big_endian) }.write());
        }
    }
    all
}

/// Perfetto traces, plain and packed.
fn perfetto() -> [Vec<u8>; 2] {
    use proto::{bundle, cpu_idle, described, event, message, packet, sched_switch, trace};
    let bundles = (0..6).map(|n| {
        let at = |i: u64| 1_000_000_000 + 1000 * (10 * n + i);
        let named = message().b(1, "tick_stop").m(2, message().b(1, "success").n(4, 1));
        let events = vec![
            cpu_idle(at(0), n as u32 % 2, 1),
            event(at(1), 0, 553, message().n(1, 7).n(2, 55).n(3, 5)),
            event(at(2), 0, 65536, message().n(1, 1).n(2, 2)),
            event(at(3), 0, 327, named),
            sched_switch(at(4), 0, 0, 77),
        ];
        let compact = message()
            .b(5, "sh")
            .packed(1, &[at(5) as i64, 300, 300])
            .packed(2, &[1, 0, 2])
            .packed(3, &[42, 0, 43])
            .packed(4, &[120, 120, -98])
            .packed(6, &[0, 0, 0])
            .packed(7, &[at(5) as i64, 7])
            .packed(8, &[42, 99])
            .packed(9, &[0, 1]);
        let described = described(65536, "timer", "tick_stop", &[("success", 4), ("dependency", 4)]);
        let whole = bundle(n as u32 % 2, events).n(3, n as u32 % 3).m(4, compact).m(11, described);
        packet(whole).m(12, message().m(26, message().n(1, 5).b(2, "tick_nohz_handler")))
    });
    let info = message().m(45, message().m(1, message().b(3, "6.6.30").b(4, "aarch64")));
    let idle = message().n(1, 1).m(2, message().b(1, "C1").n(2, 500_000)).m(2, message().b(1, "C8").n(2, 7));
    let sampled = message().m(7, message().n(3, 1).m(16, idle)).n(8, 1_000_000_000);
    let plain = trace([info, sampled].into_iter().chain(bundles).collect());
    let packed = message().b(133, zstd::encode_all(&plain[..], 1).unwrap());
    [plain.clone(), [trace(vec![packed]), plain].concat()]
}

#[test]
fn damaged_files_never_break_the_reader() {
    let bases = bases();
    if let Some(dir) = std::env::var_os("IDLEWISE_FUZZ_CORPUS") {
        for (i, base) in bases.iter().enumerate() {
            std::fs::write(Path::new(&dir).join(format!("{i}.dat")), base).unwrap();
        }
    }
    survives(inputs(8_000), 20_240_607, 10, |chance| {
        let (a, b) = (chance.below(bases.len()), chance.below(bases.len()));
        read(damage(&bases[a], &bases[b], chance))
    });
}

#[test]
fn damaged_directories_never_break_the_reader() {
    let shapes = [Shape::Tracefs, Shape::Record, Shape::Schedviz, Shape::TraceCmd];
    let mut chance = Chance(20_261_121);
    let dir = tempfile::tempdir().unwrap();
    let mut opened = 0u64;
    // Writing the files takes hundreds of times as long as reading them.
    let inputs = inputs(200_000) / 300;
    for _ in 0..inputs {
        let dat = Dat { page_size: 512, big_endian: chance.below(2) == 0, ..small() };
        let mut files = dat.files(shapes[chance.below(4)]);
        for _ in 0..=chance.below(3) {
            let (a, b) = (chance.below(files.len()), chance.below(files.len()));
            if chance.below(8) == 0 && files.len() > 1 {
                files.remove(a);
            } else if !files[a].1.is_empty() {
                files[a].1 = damage(&files[a].1, &files[b].1.clone(), &mut chance);
            }
        }
        let len = files.iter().map(|(_, bytes)| bytes.len()).sum();
        for (name, bytes) in &files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        if let Ok(file) = TraceFile::open(dir.path()) {
            opened += u64::from(read_all(&file, len) > 0);
        }
        for (name, _) in &files {
            std::fs::remove_file(dir.path().join(name)).unwrap();
        }
    }
    println!("{inputs} directories, {opened} gave events");
    assert!(opened > inputs / 10, "most damage must leave something to read");
}

#[test]
fn lengths_at_every_place_of_the_headers_are_not_believed() {
    for base in bases() {
        let stride = base.len() / usize::try_from(inputs(150).min(400)).unwrap() + 1;
        for at in (10..base.len()).step_by(stride) {
            for value in [0u64, u64::MAX, 0x7fff_ffff, 0xffff_fff8] {
                let mut bytes = base.clone();
                for (to, from) in bytes[at..].iter_mut().zip(value.to_le_bytes()) {
                    *to = from;
                }
                read(bytes);
            }
        }
    }
}

#[test]
fn every_cut_is_survived() {
    for base in bases() {
        for len in (0..base.len()).step_by(7) {
            read(base[..len].to_vec());
        }
    }
}
