// SPDX-License-Identifier: GPL-2.0-only
//! From the `metadata` file to its text: plain, or in packets (CTF specification 1.8.3, section 7.1).

use super::types::Order;

/// The magic number of a packet of metadata, as a little-endian machine writes it.
const PACKET_LE: [u8; 4] = [0x57, 0x1d, 0xd1, 0x75];
/// As a big-endian machine writes it.
const PACKET_BE: [u8; 4] = [0x75, 0xd1, 0x1d, 0x57];
/// The beginning of plain metadata.
const PLAIN: &[u8] = b"/* CTF 1.8";
/// The beginning of CTF 2's metadata, a sequence of JSON texts.
pub(super) const CTF2: &[u8] = b"\x1e{";

/// Magic, UUID, checksum, content size, packet size, five bytes of schemes and versions.
const HEADER: usize = 37;

/// The text in the bytes of a `metadata` file. The second value says what was left out, if anything.
///
/// # Errors
/// What was expected, and where in the file.
pub(super) fn text(bytes: &[u8]) -> Result<(String, Option<String>), (String, usize)> {
    let order = match bytes.first_chunk::<4>() {
        Some(&PACKET_LE) => Order::Little,
        Some(&PACKET_BE) => Order::Big,
        _ if bytes.starts_with(PLAIN) => return Ok((lossy(bytes), None)),
        _ => return Err(("metadata of CTF 1.8, in packets or starting with \"/* CTF 1.8\"".to_owned(), 0)),
    };
    let mut text = Vec::new();
    let mut at = 0;
    while let Some(packet) = bytes.get(at..).filter(|b| !b.is_empty()) {
        let word = |from: usize| {
            let bytes = *packet.get(from..)?.first_chunk::<4>()?;
            Some(if order == Order::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
        };
        let (Some(magic), Some(content), Some(size)) = (word(0), word(24), word(28)) else {
            return Ok((lossy(&text), Some(format!("the metadata is cut off at byte {at}"))));
        };
        if magic != u32::from_le_bytes(PACKET_LE) {
            return Err(("the magic number of a packet of metadata".to_owned(), at));
        }
        if packet.get(32..36).is_some_and(|schemes| schemes.iter().take(2).any(|b| *b != 0)) {
            return Err(("metadata without compression and encryption".to_owned(), at + 32));
        }
        let (content, size) = (content as usize / 8, size as usize / 8);
        if content < HEADER || size < content {
            return Err((format!("a content and a packet of at least {HEADER} bytes"), at + 24));
        }
        let Some(body) = packet.get(HEADER..content) else {
            text.extend_from_slice(packet.get(HEADER..).unwrap_or_default());
            return Ok((lossy(&text), Some(format!("the metadata is cut off in its packet at byte {at}"))));
        };
        text.extend_from_slice(body);
        at += size;
    }
    Ok((lossy(&text), None))
}

/// Zero bytes end the text of some writers.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
}

/// Whether a file that starts like this may be the metadata of a trace.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    head.starts_with(&PACKET_LE)
        || head.starts_with(&PACKET_BE)
        || head.starts_with(PLAIN)
        || head.starts_with(CTF2)
}
