// SPDX-License-Identifier: GPL-2.0-only
//! Pages of `web/tests/samples.js`.

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use idlewise_chart::PageData;
use idlewise_checkout::root;
use rquickjs::{Context, Function, Runtime};

/// Every sample by name.
pub(crate) fn all() -> &'static BTreeMap<String, PageData> {
    static ALL: OnceLock<BTreeMap<String, PageData>> = OnceLock::new();
    ALL.get_or_init(|| {
        let text = |name: &str| fs::read_to_string(root().join("web/tests").join(name)).unwrap();
        let (script, replay) = (text("samples.js"), text("replay.json"));
        let made = Context::full(&Runtime::new().unwrap()).unwrap().with(|context| {
            context.eval::<(), _>(script).unwrap();
            context
                .eval::<Function, _>("(text) => JSON.stringify(idlewiseSamples(text))")
                .unwrap()
                .call::<_, String>((replay,))
                .unwrap()
        });
        serde_json::from_str(&made).unwrap()
    })
}

/// The sample of this name.
pub(crate) fn sample(name: &str) -> &'static PageData {
    &all()[name]
}
