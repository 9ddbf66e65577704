// SPDX-License-Identifier: GPL-2.0-only
//! The report page: template, data, script. It opens from disk and needs no network; a policy in it forbids one.

use std::borrow::Cow;

use crate::contract::PageData;
use crate::json::escaped;
use crate::{ChartError, embedded, sample};

/// The most bytes that a page has.
pub const LIMIT: usize = 3_000_000;

/// The page as one HTML file. Where it would be too large, timelines and points are sampled, and the page says so.
///
/// # Errors
/// [`ChartError::TooLarge`] when what cannot be sampled is too large by itself.
pub fn page(data: &PageData) -> Result<String, ChartError> {
    data.assert_sound();
    let frame = Frame::new(data);
    let room = LIMIT.saturating_sub(frame.size());
    let mut data = Cow::Borrowed(data);
    let mut json = escaped(&serde_json::to_string(&*data)?);
    if json.len() > room {
        data = Cow::Owned(sample::shrunk(&data, json.len() - room)?);
        json = escaped(&serde_json::to_string(&*data)?);
    }
    if json.len() > room {
        return Err(ChartError::TooLarge { size: frame.size() + json.len(), limit: LIMIT });
    }
    Ok(frame.around(&json))
}

/// Text as the content of an element.
fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Everything of a page but its data. Where the template has a marker, a part ends.
struct Frame {
    parts: Vec<String>,
}

/// The markers of the template, in its order.
const MARKERS: [&str; 4] = ["{{title}}", "{{data}}", "{{licenses}}", "{{script}}"];

impl Frame {
    fn new(data: &PageData) -> Self {
        let template = embedded::text("page.html");
        let mut parts = Vec::new();
        let mut rest = template.as_str();
        for marker in MARKERS {
            let Some((before, after)) = rest.split_once(marker) else {
                unreachable!("web/src/page/page.html has no {marker}")
            };
            parts.push(before.to_owned());
            rest = after;
        }
        let [head, before_data, before_licenses, before_script] = &mut parts[..] else {
            unreachable!("as many parts as markers")
        };
        head.push_str(&html(&data.title));
        head.push_str(before_data);
        before_licenses.push_str(&html(&embedded::text("LICENSES.txt")));
        before_licenses.push_str(before_script);
        before_licenses.push_str(&embedded::text("idlewise.js"));
        before_licenses.push_str(rest);
        Self { parts: vec![std::mem::take(head), std::mem::take(before_licenses)] }
    }

    fn size(&self) -> usize {
        self.parts.iter().map(String::len).sum()
    }

    fn around(&self, json: &str) -> String {
        self.parts.join(json)
    }
}
