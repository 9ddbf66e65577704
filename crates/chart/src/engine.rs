// SPDX-License-Identifier: GPL-2.0-only
//! A chart as SVG, by the embedded script in QuickJS.
//!
//! The script is ours; data enters it as JSON and leaves it as attributes and text of the SVG. Vega's expressions are
//! interpreted from their syntax trees, never compiled, so no name of a file can become code.

use std::thread;

use rquickjs::{CatchResultExt as _, Context, Ctx, Function, Object, Promise, Runtime};

use crate::ChartError;
use crate::charts::{available, named};
use crate::contract::PageData;
use crate::embedded;

/// Ink on paper, or light on dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    #[default]
    Light,
    Dark,
}

/// Widths in pixels for which the charts are laid out.
const WIDTHS: std::ops::RangeInclusive<u32> = 300..=2400;
/// Compiling a specification nests deeply; a thread of Rust's tests has less.
const STACK: usize = 64 << 20;
const SCRIPT_STACK: usize = 48 << 20;
/// What a chart of a million rows needs and a runaway script does not get.
const MEMORY: usize = 2 << 30;

/// What the script expects of its surroundings besides the language. Nothing waits: there are no timers to fire.
const SURROUNDINGS: &str = "
    const nothing = () => {};
    globalThis.console = { log: nothing, info: nothing, warn: nothing, error: nothing, debug: nothing };
    globalThis.structuredClone = (value) => value === undefined ? undefined : JSON.parse(JSON.stringify(value));
    globalThis.setTimeout = globalThis.setInterval = () => 0;
    globalThis.clearTimeout = globalThis.clearInterval = nothing;
";

/// Tables of which only their own charts need the rows.
const LARGE: [&str; 4] = ["timeline", "points", "latency", "residency"];

/// The chart of this name as a standalone SVG, `width` pixels wide. The same input gives the same bytes.
///
/// # Errors
/// [`ChartError`] when there is no such chart, or when the report has nothing to draw in it.
pub fn svg(chart: &str, page: &PageData, width: u32, theme: Theme) -> Result<String, ChartError> {
    let known = named(chart).ok_or_else(|| ChartError::Unknown { name: chart.to_owned() })?;
    if !WIDTHS.contains(&width) {
        return Err(ChartError::Width { width, least: *WIDTHS.start(), most: *WIDTHS.end() });
    }
    page.assert_sound();
    if !page.has(known.table) {
        let names: Vec<_> = available(page).iter().map(|c| c.name).collect();
        return Err(ChartError::Nothing {
            chart: chart.to_owned(),
            needs: format!("a table {}", known.table),
            available: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
        });
    }
    let own = PageData {
        tables: page
            .tables
            .iter()
            .filter(|t| t.name == known.table || !LARGE.contains(&t.name.as_str()))
            .cloned()
            .collect(),
        report: serde_json::Value::Null,
        ..page.clone()
    };
    let json = serde_json::to_string(&own)?;
    let theme = match theme {
        Theme::Light => "light",
        Theme::Dark => "dark",
    };
    let drawn = in_engine(move |context| {
        let idlewise: Object = context.globals().get("idlewise")?;
        let svg: Function = idlewise.get("svg")?;
        let text: Promise = svg.call((known.name, json, width, theme))?;
        text.finish::<String>()
    })?;
    if drawn.is_empty() {
        return Err(ChartError::Empty { chart: chart.to_owned(), table: known.table.to_owned() });
    }
    Ok(drawn)
}

/// Runs `work` in a fresh engine that has run the embedded script.
fn in_engine(
    work: impl FnOnce(&Ctx<'_>) -> rquickjs::Result<String> + Send + 'static,
) -> Result<String, ChartError> {
    let run = move || -> Result<String, ChartError> {
        let failed = |e: rquickjs::Error| ChartError::Script(e.to_string());
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_max_stack_size(SCRIPT_STACK);
        runtime.set_memory_limit(MEMORY);
        let context = Context::full(&runtime).map_err(failed)?;
        context.with(|context| {
            let thrown = |e: rquickjs::CaughtError<'_>| ChartError::Script(e.to_string());
            context.eval::<(), _>(SURROUNDINGS).catch(&context).map_err(thrown)?;
            context.eval::<(), _>(embedded::text("idlewise.js")).catch(&context).map_err(thrown)?;
            work(&context).catch(&context).map_err(thrown)
        })
    };
    let thread = thread::Builder::new().name("chart".to_owned()).stack_size(STACK).spawn(run);
    let thread = thread.map_err(|e| ChartError::Script(format!("its thread: {e}")))?;
    thread.join().map_err(|_| ChartError::Script("its thread panicked".to_owned()))?
}
