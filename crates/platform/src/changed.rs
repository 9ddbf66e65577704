// SPDX-License-Identifier: GPL-2.0-only
//! A platform with some values of its file changed.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::{Costs, Package, Platform, PlatformError, PowerLimits};

/// Values of a platform file by key, each as its TOML text: `cluster.LITTLE.state.c2.exit_latency_us` to `100`. The blocks of a
/// list are called by their `name`, or where they have none by their first value: `cluster.LITTLE.power.curve.300000.active`.
pub type Changes = BTreeMap<String, String>;

impl Platform {
    /// The same with other values, and where it is from.
    ///
    /// # Errors
    /// [`PlatformError::Change`] for a key that leads nowhere, or whose value is none; [`PlatformError::Toml`] for a value that
    /// the file may not have.
    pub fn changed(self, changes: &Changes) -> Result<Self, PlatformError> {
        if changes.is_empty() {
            return Ok(self);
        }
        // Costs that nobody measured are those that a simulation takes.
        let with_costs = changes.keys().any(|key| key.starts_with("costs.")) && self.costs.is_none();
        let costs = with_costs.then(|| (Costs::default(), "orders of magnitude of a big core".to_owned()));
        // Nobody says what a package draws.
        let with_package = changes.keys().any(|key| key.starts_with("package."));
        let source = "not published".to_owned();
        let none = Package {
            awake_uw: 0,
            always_uw: 0,
            each_awake_uw: 0,
            from: None,
            levels: Vec::new(),
            source: source.clone(),
        };
        let with_limits = changes.keys().any(|key| key.starts_with("limits."));
        let no_limits =
            PowerLimits { limits: idlewise_power::Limits::default(), step_ns: PowerLimits::STEP_NS, source };
        let own = Self {
            costs: self.costs.clone().or(costs),
            package: self.package.clone().or(with_package.then_some(none)),
            limits: self.limits.clone().or(with_limits.then_some(no_limits)),
            ..self.clone()
        };
        let mut file: Table = toml::from_str(&own.to_toml())
            .map_err(|e| PlatformError::Read { path: self.id.clone(), reason: e.to_string() })?;
        for (key, text) in changes {
            let fail = |what: String| PlatformError::Change { key: key.clone(), value: text.clone(), what };
            let value = value(text).ok_or_else(|| {
                fail("expected a number, true, false, \"text\" or a list of such".to_owned())
            })?;
            let path: Vec<&str> = key.split('.').collect();
            set(&mut file, &path, value).map_err(fail)?;
        }
        let changed = Self::from_toml(&file.to_string(), &format!("{} with changes", self.id))?;
        Ok(Self { origin: self.origin, ..changed })
    }
}

fn value(text: &str) -> Option<Value> {
    let mut one = toml::from_str::<Table>(&format!("v = {text}")).ok()?;
    one.remove("v").filter(|_| one.is_empty())
}

fn set(table: &mut Table, path: &[&str], value: Value) -> Result<(), String> {
    match path {
        [] => Err("the key is empty".to_owned()),
        [key] => match table.get(*key) {
            Some(Value::Table(_)) => Err(format!("`{key}` is a block; name a key of it")),
            _ => {
                table.insert((*key).to_owned(), value);
                Ok(())
            }
        },
        [key, rest @ ..] => match table.get_mut(*key) {
            Some(Value::Table(inner)) => set(inner, rest, value),
            Some(Value::Array(blocks)) => in_list(key, blocks, rest, value),
            Some(_) => Err(format!("`{key}` is a value, no block")),
            None => {
                Err(format!("there is no `{key}`; there are {}", names(table.keys().map(String::as_str))))
            }
        },
    }
}

fn in_list(list: &str, blocks: &mut [Value], path: &[&str], value: Value) -> Result<(), String> {
    let Some((name, rest)) = path.split_first() else {
        return Err(format!("which block of `{list}`?"));
    };
    let known: Vec<String> = blocks.iter().filter_map(name_of).collect();
    let found = blocks.iter_mut().find(|b| name_of(b).is_some_and(|n| n == *name));
    match found {
        Some(Value::Table(block)) => set(block, rest, value),
        _ => Err(format!(
            "no block of `{list}` is called {name}; there are {}",
            names(known.iter().map(String::as_str))
        )),
    }
}

/// What a block of a list is called by.
fn name_of(block: &Value) -> Option<String> {
    let block = block.as_table()?;
    match block.get("name").or_else(|| block.get("khz"))? {
        Value::String(s) => Some(s.clone()),
        other => Some(other.to_string()),
    }
}

fn names<'n>(all: impl Iterator<Item = &'n str>) -> String {
    all.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use crate::{Changes, Costs, PlatformError, find};

    fn changes(all: &[(&str, &str)]) -> Changes {
        all.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn values_are_found_by_the_names_of_blocks() {
        let p = find("pixel6").unwrap();
        let all = [
            ("cluster.LITTLE.state.WFI.measured_wake_ns", "0"),
            ("cluster.LITTLE.state.c2.measured_wake_ns", "90000"),
            ("cluster.BIG.power.curve.500000.active", "1000000"),
            ("cluster.MID.clock.down_rate_limit_us", "1"),
            ("hz", "1000"),
        ];
        let q = p.clone().changed(&changes(&all)).unwrap();
        assert_eq!(q.clusters[0].info[1].measured_wake_ns, Some(90_000));
        assert_eq!(q.clusters[2].clock.as_ref().unwrap().points[0].active_uw(), 1_000_000);
        assert_eq!(q.clusters[1].clock.as_ref().unwrap().down_rate_limit_us, Some(1));
        assert_eq!((q.hz, &q.origin), (Some(1000), &p.origin));
        assert_eq!(p.clone().changed(&Changes::new()).unwrap(), p);
        let costs = p.clone().changed(&changes(&[("costs.wake_ns", "7")])).unwrap().costs.unwrap().0;
        assert_eq!(costs, Costs { wake_ns: 7, ..Costs::default() });
        assert_eq!(p.package, None);
        let all = changes(&[("package.awake", "7"), ("package.from", "\"c2\"")]);
        let package = p.clone().changed(&all).unwrap().package.unwrap();
        assert_eq!((package.awake_uw, package.from.as_deref()), (7, Some("c2")));
        // What a change says already changes nothing.
        let same = p.clone().changed(&changes(&[("hz", "250")])).unwrap();
        assert_eq!(same, p);
    }

    #[test]
    fn what_leads_nowhere_is_told() {
        let p = find("pixel6").unwrap();
        for (key, value, words) in [
            (
                "cluster.MIDDLE.capacity",
                "1",
                "no block of `cluster` is called MIDDLE; there are LITTLE, MID, BIG",
            ),
            ("clusters.MID.capacity", "1", "there is no `clusters`"),
            ("cluster", "1", "expected a sequence"),
            ("cluster.MID", "1", "the key is empty"),
            ("cluster.MID.clock", "1", "is a block"),
            ("hz.x", "1", "is a value"),
            ("hz", "many", "expected a number"),
            ("hz", "1\nid = 2", "expected"),
            ("", "1", "unknown field"),
            ("hz", "0", "ticks per second"),
            ("cluster.MID.capcity", "1", "capcity"),
            ("package.from", "\"C9\"", "no idle state `C9`"),
        ] {
            let why = p.clone().changed(&changes(&[(key, value)]));
            let why = why.map(|p| p.id).unwrap_err();
            assert!(why.to_string().contains(words), "{key} = {value}: {why}");
            if let PlatformError::Change { key: told, .. } = &why {
                assert_eq!(told, key);
            }
        }
    }
}
