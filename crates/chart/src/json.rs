// SPDX-License-Identifier: GPL-2.0-only
//! How JSON stands in an HTML page without ending its element.

/// JSON as the content of a script element: nothing in it can end the element or begin a comment. It is still the same JSON.
pub(crate) fn escaped(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}
