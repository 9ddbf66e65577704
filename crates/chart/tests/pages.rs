// SPDX-License-Identifier: GPL-2.0-only
//! Is a page one file that holds its data, runs nothing of it, and is small?

use std::fs;
use std::path::PathBuf;

use idlewise_chart::{ChartError, LIMIT, PageData, page};

use crate::samples::{all, sample};

/// The data that a page holds.
fn data(html: &str) -> PageData {
    let json = html.split("<script type=\"application/json\" id=\"data\">").nth(1).unwrap();
    serde_json::from_str(json.split("</script>").next().unwrap()).unwrap()
}

/// Also what `make browser` opens: the pages are kept where `IDLEWISE_PAGES` says.
#[test]
fn every_sample_becomes_a_page_that_holds_its_data() {
    let folder = std::env::var_os("IDLEWISE_PAGES").map(PathBuf::from);
    for (name, sample) in all() {
        let html = page(sample).unwrap();
        assert!(html.len() <= LIMIT, "{name}: {} bytes", html.len());
        let held = data(&html);
        if sample.sampled == held.sampled {
            assert_eq!(&held, sample, "{name}");
        }
        // The data's own element, the script's own, and no other.
        assert_eq!(html.matches("<script").count(), 2, "{name}");
        assert_eq!(html.matches("</script").count(), 2, "{name}");
        assert!(!html.contains("{{"), "{name}: a marker is left");
        if let Some(folder) = &folder {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join(format!("{name}.html")), html).unwrap();
        }
    }
}

#[test]
fn a_page_asks_nobody_for_anything() {
    let html = page(sample("replay")).unwrap();
    let policy =
        html.split("Content-Security-Policy\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe-eval") && !policy.contains("http"), "{policy}");
    let frame = html.split("<script").next().unwrap();
    assert!(!frame.contains("src=") && !frame.contains("href=") && !frame.contains("url("), "{frame}");
}

#[test]
fn foreign_text_cannot_leave_its_element() {
    let html = page(sample("hostile")).unwrap();
    let title = html.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
    assert_eq!(title, "&lt;/script&gt;&lt;script&gt;window.pwned=1&lt;/script&gt;");
    assert!(!html.contains("<img src=x") && html.contains("\\u003cimg src=x"));
}

#[test]
fn a_page_that_would_be_too_large_says_what_it_leaves_out() {
    let large = sample("large");
    assert!(serde_json::to_string(large).unwrap().len() > 3 * LIMIT);
    let held = data(&page(large).unwrap());
    assert!(!held.sampled.is_empty());
    let rows =
        |page: &PageData, name: &str| page.tables.iter().find(|t| t.name == name).unwrap().rows.clone();
    for (name, least) in [("timeline", 1_000), ("points", 1_000)] {
        let (all, kept) = (rows(large, name), rows(&held, name));
        assert!(kept.len() < all.len() && kept.len() > least, "{name}: {} of {}", kept.len(), all.len());
        let sentence = format!("it shows {} of {} ", kept.len(), all.len());
        assert!(held.sampled.iter().any(|s| s.contains(&sentence)), "{sentence}: {:?}", held.sampled);
    }
    // The other tables are whole; every CPU has its beginning.
    for name in ["residency", "latency"] {
        assert_eq!(rows(large, name), rows(&held, name));
    }
    let first = |rows: &[Vec<idlewise_chart::Cell>]| {
        let mut cpus: Vec<String> = rows.iter().map(|r| format!("{:?}", r[1])).collect();
        cpus.dedup();
        cpus
    };
    assert_eq!(first(&rows(large, "timeline")), first(&rows(&held, "timeline")));
}

/// The first rows of a timeline have their reasons and are long; the others are short.
#[test]
fn rows_that_are_not_equally_long_leave_a_page_that_is_small_enough() {
    let mut data = sample("large").clone();
    let timeline = data.tables.iter_mut().find(|t| t.name == "timeline").unwrap();
    let why = timeline.columns.iter().position(|c| c.name == "why").unwrap();
    timeline.rows.truncate(4_000);
    for row in timeline.rows.iter_mut().take(2_000) {
        row[why] = "because of all that was seen before it; ".repeat(60).into();
    }
    data.tables.retain(|t| t.name != "points");
    let html = page(&data).unwrap();
    assert!(html.len() <= LIMIT, "{}", html.len());
    let held = self::data(&html);
    let kept = held.tables.iter().find(|t| t.name == "timeline").unwrap().rows.len();
    assert!((100..2_000).contains(&kept), "{kept}");
}

#[test]
fn a_page_whose_answer_alone_is_too_large_is_an_error() {
    let mut data = sample("reproduce").clone();
    data.verdicts = vec!["x".repeat(LIMIT)];
    assert!(matches!(page(&data), Err(ChartError::TooLarge { .. })));
}

#[test]
fn a_result_that_does_not_fit_is_left_out_before_the_tables() {
    let mut data = sample("replay").clone();
    data.report = serde_json::json!({"all": "x".repeat(LIMIT)});
    let held = self::data(&page(&data).unwrap());
    assert_eq!(held.report, serde_json::Value::Null);
    assert_eq!(held.tables, data.tables);
    assert_eq!(held.sampled, ["The JSON result is not in this page; --format json prints it."]);
}
