// SPDX-License-Identifier: GPL-2.0-only
//! A chart as SVG, by the embedded script in QuickJS.
//!
//! The script is ours; data enters it as JSON and leaves it as attributes and text of the SVG. Vega's expressions are
//! interpreted from their syntax trees, never compiled, so no name of a file can become code.

use std::thread;

use rquickjs::{CatchResultExt as _, Context, Ctx, Function, Object, Promise, Runtime};

use crate::ChartError;
use crate::charts::{Chart, available, named};
use crate::contract::{Cell, PageData, Table};
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

/// How often the engine may ask whether to go on, which it does every 10,000 jumps and calls: some minutes, where the
/// largest chart of the tests takes seconds. What runs longer does not end.
const TURNS: u32 = 400_000;

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
    let mut drawn = svgs(&[chart], page, width, theme);
    assert_eq!(drawn.len(), 1);
    drawn.remove(0)
}

/// Several charts, each as [`svg`] gives it, from one engine: to start it takes as long as to draw a chart.
#[must_use]
pub fn svgs(charts: &[&str], page: &PageData, width: u32, theme: Theme) -> Vec<Result<String, ChartError>> {
    page.assert_sound();
    let asked: Vec<Result<Request, ChartError>> =
        charts.iter().map(|chart| Request::new(chart, page, width, theme)).collect();
    let requests: Vec<Request> = asked.iter().filter_map(|r| r.as_ref().ok()).cloned().collect();
    if requests.is_empty() {
        return asked.into_iter().map(|r| r.map(|_| String::new())).collect();
    }
    let count = requests.len();
    let draw = move |context: &Ctx<'_>| requests.iter().map(|r| r.drawn(context)).collect::<Vec<_>>();
    // An engine that does not start fails every chart.
    let drawn = in_engine(TURNS, draw).unwrap_or_else(|why| vec![Err(why); count]);
    assert_eq!(drawn.len(), count);
    let mut drawn = drawn.into_iter();
    asked
        .into_iter()
        .map(|request| {
            let request = request?;
            let text = drawn.next().ok_or_else(|| ChartError::Script("it stopped".to_owned()))?;
            match text.map_err(ChartError::Script)? {
                none if none.is_empty() => Err(ChartError::Empty {
                    chart: request.chart.name.to_owned(),
                    table: request.chart.table.to_owned(),
                }),
                text => Ok(text),
            }
        })
        .collect()
}

/// One chart to draw, with the data that it needs.
#[derive(Clone)]
struct Request {
    chart: Chart,
    json: String,
    width: u32,
    theme: &'static str,
}

impl Request {
    fn new(name: &str, page: &PageData, width: u32, theme: Theme) -> Result<Self, ChartError> {
        let chart = named(name).ok_or_else(|| ChartError::Unknown { name: name.to_owned() })?;
        if !WIDTHS.contains(&width) {
            return Err(ChartError::Width { width, least: *WIDTHS.start(), most: *WIDTHS.end() });
        }
        if !page.has(chart.table) {
            let names: Vec<_> = available(page).iter().map(|c| c.name).collect();
            return Err(ChartError::Nothing {
                chart: name.to_owned(),
                needs: format!("a table {}", chart.table),
                available: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
            });
        }
        let needed = |t: &&Table| t.name == chart.table || !LARGE.contains(&t.name.as_str());
        let own = PageData {
            tables: page.tables.iter().filter(needed).map(drawn_part).collect(),
            report: serde_json::Value::Null,
            ..page.clone()
        };
        let theme = match theme {
            Theme::Light => "light",
            Theme::Dark => "dark",
        };
        Ok(Self { chart, json: serde_json::to_string(&own)?, width, theme })
    }

    /// The SVG, empty where there is nothing to draw.
    fn drawn(&self, context: &Ctx<'_>) -> Result<String, String> {
        let run = || -> rquickjs::Result<String> {
            let idlewise: Object = context.globals().get("idlewise")?;
            let svg: Function = idlewise.get("svg")?;
            let text: Promise = svg.call((self.chart.name, self.json.as_str(), self.width, self.theme))?;
            text.finish::<String>()
        };
        run().catch(context).map_err(|e| e.to_string())
    }
}

/// What a picture shows of a table: of a timeline the first CPU of the first recording, of others all.
fn drawn_part(table: &Table) -> Table {
    let (Some(recording), Some(cpu), Some(first)) =
        (table.column("recording"), table.column("cpu"), table.rows.first())
    else {
        return table.clone();
    };
    if table.name != "timeline" {
        return table.clone();
    }
    let same = |row: &&Vec<Cell>| row[recording] == first[recording] && row[cpu] == first[cpu];
    Table {
        name: table.name.clone(),
        title: table.title.clone(),
        columns: table.columns.clone(),
        rows: table.rows.iter().filter(same).cloned().collect(),
    }
}

/// What `work` makes of each request, in a fresh engine that has run the embedded script, and asks at most so often whether to
/// go on.
fn in_engine<T: Send + 'static>(
    most_turns: u32,
    work: impl FnOnce(&Ctx<'_>) -> T + Send + 'static,
) -> Result<T, String> {
    let run = move || -> Result<T, String> {
        let failed = |e: rquickjs::Error| e.to_string();
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_max_stack_size(SCRIPT_STACK);
        runtime.set_memory_limit(MEMORY);
        let mut turns = 0;
        runtime.set_interrupt_handler(Some(Box::new(move || {
            turns += 1;
            turns > most_turns
        })));
        let context = Context::full(&runtime).map_err(failed)?;
        context.with(|context| {
            let thrown = |e: rquickjs::CaughtError<'_>| e.to_string();
            context.eval::<(), _>(SURROUNDINGS).catch(&context).map_err(thrown)?;
            context.eval::<(), _>(embedded::text("idlewise.js")).catch(&context).map_err(thrown)?;
            Ok(work(&context))
        })
    };
    let thread = thread::Builder::new().name("chart".to_owned()).stack_size(STACK).spawn(run);
    let thread = thread.map_err(|e| format!("its thread: {e}"))?;
    thread.join().map_err(|_| "its thread panicked".to_owned())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_does_not_end_is_ended() {
        let endless = |context: &Ctx<'_>| {
            let run = context.eval::<(), _>("for (;;);").catch(context);
            run.map_err(|e| e.to_string())
        };
        let ended = in_engine(2000, endless).unwrap();
        assert!(ended.as_ref().is_err_and(|why| why.contains("interrupted")), "{ended:?}");
    }
}
