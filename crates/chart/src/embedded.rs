// SPDX-License-Identifier: GPL-2.0-only
//! The files of `web/dist`, which the build script compressed.

use std::io::Read as _;

use flate2::read::DeflateDecoder;

const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The fonts of PNGs.
pub(crate) fn fonts() -> impl Iterator<Item = Vec<u8>> {
    FILES.iter().filter(|(name, _)| name.starts_with("font/")).map(|(name, _)| bytes(name))
}

/// A file of text.
pub(crate) fn text(name: &str) -> String {
    let Ok(text) = String::from_utf8(bytes(name)) else { unreachable!("web/dist/{name} is not UTF-8") };
    text
}

fn bytes(name: &str) -> Vec<u8> {
    let Some((_, packed)) = FILES.iter().find(|(n, _)| *n == name) else {
        unreachable!("web/dist/{name} is not embedded")
    };
    let mut out = Vec::new();
    let read = DeflateDecoder::new(*packed).read_to_end(&mut out);
    assert!(read.is_ok(), "web/dist/{name} is damaged");
    out
}
