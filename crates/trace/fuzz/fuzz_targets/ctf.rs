// SPDX-License-Identifier: GPL-2.0-only
//! Any bytes as a CTF trace: the metadata, then each stream behind a mark. Opened, read to the end, asked for everything.
#![no_main]

use std::collections::BTreeMap;
use std::path::Path;

use idlewise_trace::TraceFile;
use libfuzzer_sys::fuzz_target;

const MARK: &[u8] = b"\0CTF\0";

fuzz_target!(|bytes: &[u8]| {
    let mut files = BTreeMap::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(MARK.len()).position(|w| w == MARK) {
        let name = if files.is_empty() { "metadata".to_owned() } else { format!("k_{:03}", files.len()) };
        files.insert(name, rest[..at].to_vec());
        rest = &rest[at + MARK.len()..];
    }
    files.insert(format!("k_{:03}", files.len()), rest.to_vec());
    let Ok(file) = TraceFile::from_files(Path::new("fuzz"), files) else { return };
    let Ok(mut events) = file.events() else { return };
    events.by_ref().for_each(drop);
    let _ = (events.health(), events.counts(), events.irq_name(0), file.meta().function(1));
});
