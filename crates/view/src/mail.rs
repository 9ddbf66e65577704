// SPDX-License-Identifier: GPL-2.0-only
//! Results as mailing lists read them: plain text, no line that a mailer would wrap, and where the numbers come from.

use idlewise_report::{Line, Report};

/// What a posting says of the origin of its numbers.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// As a shell reads it.
    pub command: String,
    /// Names of inputs with their hashes.
    pub inputs: Vec<(String, String)>,
}

/// Columns of a mail that nobody's mailer wraps.
pub const MAIL_WIDTH: usize = 76;

/// Any result, for a mail: tables that are too wide in parts, and its origin below.
#[must_use]
pub fn mailed(result: Report, from: &Provenance) -> Report {
    let mut out = result;
    out.width = Some(MAIL_WIDTH);
    out.tables = out.tables.into_iter().flat_map(|t| t.fitted(MAIL_WIDTH)).collect();
    out.footer.extend(from.lines());
    out
}

impl Provenance {
    /// Below a signature's mark: version, command, inputs.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let mut out = vec![
            Line::plain("--"),
            Line::plain(concat!("idlewise ", env!("CARGO_PKG_VERSION"))),
            Line::plain(format!("command: {}", self.command)),
        ];
        out.extend(self.inputs.iter().map(|(name, hash)| {
            // Sources have the longer one.
            let kind = if hash.len() == 64 { "SHA-256" } else { "XXH3" };
            Line::plain(format!("input ({kind}): {name} {hash}"))
        }));
        out
    }
}
