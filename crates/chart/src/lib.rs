// SPDX-License-Identifier: GPL-2.0-only
//! Charts as SVG, and the report page: one HTML file with the same charts.
//!
//! Both are drawn by the script that `web/` is built into. In the page a browser runs it. Here QuickJS does, so that a
//! machine without a browser and without Node draws the same pictures. What a report has to give is [`PageData`].

mod charts;
mod contract;
mod embedded;
mod engine;
mod json;
mod page;
mod sample;
mod tables;

use thiserror::Error;

pub use charts::{CHARTS, Chart, available};
pub use contract::{Better, Cell, Column, ColumnType, Hash, Kind, Note, PageData, SCHEMA, Table, Trust};
pub use engine::{Theme, svg, svgs};
pub use page::{LIMIT, page};

/// Why there is no chart or no page.
#[derive(Debug, Error)]
pub enum ChartError {
    #[error("no chart is called {name:?}: {}", charts::names())]
    Unknown { name: String },
    #[error(
        "this report has nothing for the chart {chart}: it needs {needs}; charts of this report: {available}"
    )]
    Nothing { chart: String, needs: String, available: String },
    #[error("the table {table} of this report holds nothing that the chart {chart} draws")]
    Empty { chart: String, table: String },
    #[error("a chart is {least} to {most} pixels wide, not {width}")]
    Width { width: u32, least: u32, most: u32 },
    #[error("the chart's script: {0}")]
    Script(String),
    #[error("the page is {size} bytes without timelines and points, {limit} at most")]
    TooLarge { size: usize, limit: usize },
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// The licences of the libraries that are in every page.
#[must_use]
pub fn licenses() -> String {
    embedded::text("LICENSES.txt")
}
