// SPDX-License-Identifier: GPL-2.0-only
//! The files of `web/dist`, which the build script compressed.

use std::io::Read as _;

use flate2::read::DeflateDecoder;

const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// A file of text.
pub(crate) fn text(name: &str) -> String {
    let Some((_, packed)) = FILES.iter().find(|(n, _)| *n == name) else {
        unreachable!("web/dist/{name} is not embedded")
    };
    let mut out = String::new();
    let read = DeflateDecoder::new(*packed).read_to_string(&mut out);
    assert!(read.is_ok(), "web/dist/{name} is damaged, or not UTF-8");
    out
}
