// SPDX-License-Identifier: GPL-2.0-only
//! Large recordings for benchmarks: the pages of a small one over and over.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use idlewise_trace::TraceFile;

/// Whether trace-cmd did it, printing to nowhere.
pub fn trace_cmd(args: &[&str], path: &Path, out: Option<&Path>) -> bool {
    let mut command = Command::new("trace-cmd");
    command.args(args).arg("-i").arg(path).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(out) = out {
        command.arg("-o").arg(out);
    }
    command.status().is_ok_and(|s| s.success())
}

/// `source` as an uncompressed version 7 file.
pub fn plain(source: &Path, to: &Path) {
    let args = ["convert", "--file-version", "7", "--compression", "none"];
    assert!(trace_cmd(&args, source, Some(to)), "trace-cmd cannot convert {}", source.display());
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn u64_at(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// Where an uncompressed version 7 file says where the data of its CPUs is: places of two 64-bit numbers each.
fn regions(bytes: &[u8]) -> Vec<usize> {
    let zeros = |at: usize, n: usize| {
        (0..n).fold(at, |at, _| at + bytes[at..].iter().position(|b| *b == 0).unwrap() + 1)
    };
    let mut options = u64_at(bytes, zeros(18, 2));
    let mut regions = Vec::new();
    while options != 0 {
        let mut at = options + 16;
        loop {
            let (id, n) = (bytes[at], u32_at(bytes, at + 2));
            if id == 3 {
                let clock_end = zeros(at + 14, 2);
                regions.extend((0..u32_at(bytes, clock_end + 4)).map(|i| clock_end + 12 + 20 * i));
            }
            if id == 0 {
                options = u64_at(bytes, at + 6);
                break;
            }
            at += 6 + n;
        }
    }
    regions
}

/// Writes `plain`, an uncompressed version 7 file, with its pages `times` times over, each time a little later than the
/// last ended. What the events say of times (timers' expiries) stays as it was.
pub fn repeat_pages(plain: &Path, to: &Path, times: usize) {
    let file = TraceFile::open(plain).unwrap();
    let (mut first, mut last) = (None, 0);
    for event in file.events().unwrap() {
        first = first.or(Some(event.ts_ns));
        last = event.ts_ns;
    }
    let span_ns = last - first.unwrap_or(0) + 1_000_000;
    let bytes = std::fs::read(plain).unwrap();
    let mut out = BufWriter::new(File::create(to).unwrap());
    let mut at = bytes.len().next_multiple_of(4096);
    out.write_all(&bytes).unwrap();
    out.write_all(&vec![0; at - bytes.len()]).unwrap();
    let mut places = Vec::new();
    for region in regions(&bytes) {
        let (offset, size) = (u64_at(&bytes, region), u64_at(&bytes, region + 8));
        let start = at;
        for k in 0..times as u64 {
            for page in (offset..offset + size).step_by(4096) {
                let time = u64_at(&bytes, page) as u64 + k * span_ns;
                out.write_all(&time.to_le_bytes()).unwrap();
                out.write_all(&bytes[page + 8..page + 4096]).unwrap();
                at += 4096;
            }
        }
        places.push((region, start, at - start));
    }
    for (region, start, size) in places {
        out.seek(SeekFrom::Start(region as u64)).unwrap();
        out.write_all(&(start as u64).to_le_bytes()).unwrap();
        out.write_all(&(size as u64).to_le_bytes()).unwrap();
    }
    out.flush().unwrap();
}
