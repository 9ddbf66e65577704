// SPDX-License-Identifier: GPL-2.0-only
//! The clocks that a trace may be recorded with (Documentation/trace/ftrace.rst, `trace_clock`).

/// The clock that the text of `trace_clock` selects: "local global [mono]" to "mono"; a single name stays.
pub(crate) fn selected(list: &str) -> String {
    let chosen = list.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name);
    chosen.unwrap_or_else(|| list.trim()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_clock_stands_in_brackets() {
        assert_eq!(selected("local [mono] boot\n"), "mono");
        assert_eq!(selected("mono"), "mono");
    }
}
