// SPDX-License-Identifier: GPL-2.0-only
//! Any page header, format and pages in a directory: opened, read to the end, asked for everything. The input's first
//! two pairs of bytes are the lengths of header and format.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use idlewise_trace::TraceFile;
use libfuzzer_sys::fuzz_target;

fn directory() -> &'static PathBuf {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let place = std::env::temp_dir().join(format!("idlewise-fuzz-ring-{}", std::process::id()));
        std::fs::create_dir_all(place.join("events/power/cpu_idle")).unwrap();
        place
    })
}

fuzz_target!(|bytes: &[u8]| {
    let [a, b, c, d, rest @ ..] = bytes else { return };
    let (header, rest) = rest.split_at(rest.len().min(u16::from_le_bytes([*a, *b]).into()));
    let (format, pages) = rest.split_at(rest.len().min(u16::from_le_bytes([*c, *d]).into()));
    let files = [("events/header_page", header), ("events/power/cpu_idle/format", format), ("cpu0", pages)];
    for (name, bytes) in files {
        std::fs::write(directory().join(name), bytes).unwrap();
    }
    let Ok(file) = TraceFile::open(directory()) else { return };
    let Ok(mut events) = file.events() else { return };
    events.by_ref().for_each(drop);
    let _ = (events.health(), events.counts(), events.irq_name(0));
});
