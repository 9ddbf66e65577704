// SPDX-License-Identifier: GPL-2.0-only
//! Is a file that is no readable trace refused with an error that says what it is and what to do?

use crate::common;

use std::io::{Read, Write};
use std::path::Path;

use common::shared;
use common::writer::Dat;
use common::writer::samples::small;
use idlewise_trace::{TraceError, TraceFile};

fn refusal(bytes: &[u8]) -> String {
    match TraceFile::from_bytes(Path::new("it"), bytes.to_vec()) {
        Ok(_) => panic!("was read"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn other_formats_are_named() {
    for (bytes, word) in [
        (&b""[..], "an empty file"),
        (b"PERFFILErest", "a perf.data file of perf before"),
        (b"<!DOCTYPE html><html>", "HTML"),
        (b"\xff\xfe#\0 \0t\0r\0", "UTF-16"),
        (
            b"Nov 21 17:00:00 vm kernel[1]: [    0.123456] pci 0000:00:00.0: [8086:0d57] type 00\n",
            "text of another kind",
        ),
        (b"{\"tasks\": {}}", "JSON"),
        (b"\x17\x08\x44trac", "damaged"),
        (b"hello, world", "text of another kind"),
        (&[9, 0, 0, 0, 1], "binary data"),
    ] {
        let text = refusal(bytes);
        assert!(text.starts_with("it ") && text.contains(word) && text.contains("; "), "{text}");
    }
}

/// Packs `bytes` as people pack recordings.
fn packed(bytes: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(bytes).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
    xz.write_all(bytes).unwrap();
    let zstd = zstd::encode_all(bytes, 3).unwrap();
    [("gzip", gzip.finish().unwrap()), ("zstd", zstd), ("xz", xz.finish().unwrap())]
}

#[test]
fn a_recording_that_was_packed_as_a_whole_is_read_as_it_was() {
    let whole = small().write();
    let plain = TraceFile::from_bytes(Path::new("a.dat"), whole.clone()).unwrap();
    for (how, bytes) in packed(&whole) {
        let file = TraceFile::from_bytes(Path::new("a.dat.packed"), bytes).unwrap();
        assert_eq!((file.packed(), &file.meta().hash), (Some(how), &plain.meta().hash));
        assert!(file.events().unwrap().eq(plain.events().unwrap()));
    }
    for (how, bytes) in packed(&whole) {
        let text = refusal(&bytes[..bytes.len() / 2]);
        assert!(text.contains(how) && text.contains("copy it again"), "{text}");
    }
    // What blows up to thousands of times its size is no recording.
    let bomb = zstd::encode_all(std::io::repeat(0).take(200 << 20), 3).unwrap();
    assert!(refusal(&bomb).contains("1000 times"), "{}", refusal(&bomb));
}

#[test]
fn broken_headers_say_where_and_what() {
    let whole = small().write();
    let mut order = whole.clone();
    order[12] = 2;
    assert!(refusal(&order).contains("a byte order of 0 or 1"), "{}", refusal(&order));
    let mut version = whole.clone();
    version[10] = b'8';
    assert!(refusal(&version).contains("version \"8\""), "{}", refusal(&version));
    let mut packing = whole.clone();
    packing[18] = b'y';
    assert!(refusal(&packing).contains("\"ystd\""), "{}", refusal(&packing));
    for cut in [11, 15, 30] {
        let text = refusal(&whole[..cut]);
        assert!(text.contains("byte ") && text.contains("expected") && text.contains("cut off"), "{text}");
    }
    // Version 7 has its options at the end: without them nothing is known.
    let text = refusal(&whole[..whole.len() / 2]);
    assert!(text.contains("the options") && text.contains("cut off"), "{text}");
}

#[test]
fn traces_of_latency_tracers_are_refused_by_name() {
    let mut bytes = Dat { version: 6, ..small() }.write();
    let at = bytes.windows(10).position(|w| w == b"flyrecord\0").unwrap();
    bytes[at..at + 10].copy_from_slice(b"latency  \0");
    let text = [&[0; 8][..], b"\0mono\0"].concat();
    let seven = Dat { options: vec![(22, text)], without: vec![3], ..small() }.write();
    for bytes in [bytes, seven] {
        let text = refusal(&bytes);
        assert!(text.contains("a latency trace") && text.contains("latency tracer"), "{text}");
    }
    // Beside events it is only left out.
    let text = [&[0; 8][..], b"slow\0mono\0"].concat();
    let beside = Dat { options: vec![(22, text)], ..small() }.write();
    let file = TraceFile::from_bytes(Path::new("it"), beside).unwrap();
    assert_eq!(
        (file.events().unwrap().count(), file.meta().other_instances.as_slice()),
        (14, &["slow".to_owned()][..])
    );
}

#[test]
fn a_missing_file_and_a_directory_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let missing = TraceFile::open(&dir.path().join("none.dat")).err().unwrap();
    assert!(matches!(missing, TraceError::Open { .. }) && missing.to_string().contains("none.dat"));
    let folder = TraceFile::open(dir.path()).err().unwrap();
    assert!(folder.to_string().contains("a directory"));
}

#[test]
fn recordings_in_other_formats_are_refused_by_name() {
    let Some(shared) = shared() else {
        println!("skipped: no recordings in ../shared (IDLEWISE_SHARED)");
        return;
    };
    let mut seen = 0;
    for (folder, words) in
        [("ctf", "archive"), ("raw-ring-buffer", "archive"), ("sysfs", ""), ("turbostat", "")]
    {
        let Ok(dir) = std::fs::read_dir(shared.join("traces").join(folder)) else { continue };
        for path in dir.flatten().map(|e| e.path()).filter(|p| p.is_file()) {
            let error = TraceFile::open(&path).err().unwrap_or_else(|| panic!("{} was read", path.display()));
            println!("{error}");
            assert!(
                matches!(error, TraceError::NotATrace { .. }) && error.to_string().contains(words),
                "{error}"
            );
            seen += 1;
        }
    }
    assert!(seen > 0);
}
