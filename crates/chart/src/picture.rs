// SPDX-License-Identifier: GPL-2.0-only
//! A chart as PNG: its SVG, drawn with the embedded font and no other, so that every machine draws the same bytes.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::contract::PageData;
use crate::engine::{Theme, svg};
use crate::{ChartError, embedded};

/// The chart of this name as PNG, `width` pixels wide times `scale`; 2 is for screens of high resolution and for print.
///
/// # Errors
/// [`ChartError`] as of [`svg`], or when the picture cannot be made.
pub fn png(
    chart: &str,
    page: &PageData,
    width: u32,
    theme: Theme,
    scale: f32,
) -> Result<Vec<u8>, ChartError> {
    let text = svg(chart, page, width, theme)?;
    let failed = |why: String| ChartError::Picture(why);
    let mut fonts = fontdb::Database::new();
    for font in embedded::fonts() {
        fonts.load_font_data(font);
    }
    let options = Options { font_family: "Arimo".to_owned(), fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(&text, &options).map_err(|e| failed(e.to_string()))?;
    let size = tree.size().to_int_size().scale_by(scale);
    let size = size.ok_or_else(|| failed(format!("a scale of {scale} leaves nothing")))?;
    let mut pixels = Pixmap::new(size.width(), size.height())
        .ok_or_else(|| failed(format!("{} by {} pixels are too many", size.width(), size.height())))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| failed(e.to_string()))
}
