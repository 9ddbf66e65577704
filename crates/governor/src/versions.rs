// SPDX-License-Identifier: GPL-2.0-only
//! Which governor that ships with idlewise a kernel's own menu or TEO is, by the kernel's release.

/// What the kernels from a release on have, up to the next row's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShippedVersion {
    /// The name that these kernels register: `menu` or `teo`.
    pub governor: &'static str,
    /// The first release: version, patch level, number of the stable release.
    pub since: [u16; 3],
    /// What ships with idlewise, with its parameters.
    pub spec: &'static str,
    /// It makes the same choices; else it is the most alike of those that ship.
    pub same: bool,
    /// How that is known.
    pub source: &'static str,
}

/// Compiled code of such a kernel made golden decisions, which the tests repeat.
const GOLDEN: &str = "golden decisions";
/// Of several versions it repeats the most golden decisions of such a kernel.
const FEWEST: &str = "the fewest golden decisions that differ";
/// By the changes that the stable releases list; such a kernel's code was not compiled.
const CHANGELOG: &str = "list of changes";

const fn row(
    governor: &'static str,
    since: [u16; 3],
    spec: &'static str,
    same: bool,
    source: &'static str,
) -> ShippedVersion {
    ShippedVersion { governor, since, spec, same, source }
}

/// The table, by governor and ascending by release. A stable series that took a change of its own returns to the rows of its
/// mainline at the next version.
pub const SHIPPED_VERSIONS: [ShippedVersion; 28] = [
    row("menu", [0, 0, 0], "menu-6.1", false, FEWEST),
    row("menu", [5, 13, 0], "menu-6.1", true, GOLDEN),
    row("menu", [6, 1, 141], "menu-6.1:no_pattern=1", true, CHANGELOG),
    row("menu", [6, 1, 157], "menu-6.1:no_pattern=1,rejected_endless=1", true, CHANGELOG),
    row("menu", [6, 1, 158], "menu-6.1:rejected_endless=1", true, GOLDEN),
    row("menu", [6, 2, 0], "menu-6.1", true, GOLDEN),
    row("menu", [6, 6, 0], "menu-6.1", false, FEWEST),
    row("menu", [6, 12, 31], "menu-6.1:no_pattern=1", false, CHANGELOG),
    row("menu", [6, 12, 44], "menu-6.12:no_pattern=1", false, CHANGELOG),
    row("menu", [6, 12, 56], "menu-6.12", false, CHANGELOG),
    row("menu", [6, 12, 75], "menu-6.12", true, GOLDEN),
    row("menu", [6, 13, 0], "menu-6.12", false, FEWEST),
    row("menu", [6, 15, 0], "menu-6.12:no_pattern=1", false, FEWEST),
    row("menu", [6, 18, 0], "menu", false, CHANGELOG),
    row("menu", [7, 1, 0], "menu", true, GOLDEN),
    row("teo", [0, 0, 0], "teo-5.6", false, FEWEST),
    row("teo", [5, 5, 0], "teo-5.6", true, GOLDEN),
    row("teo", [5, 13, 0], "teo-5.6", false, FEWEST),
    row("teo", [5, 14, 0], "teo-6.1", true, GOLDEN),
    row("teo", [6, 3, 0], "teo-util", true, GOLDEN),
    row("teo", [6, 6, 0], "teo-6.6", true, GOLDEN),
    row("teo", [6, 11, 0], "teo-6.12:residency_guard=1", true, GOLDEN),
    row("teo", [6, 12, 64], "teo-6.12", true, GOLDEN),
    row("teo", [6, 13, 0], "teo-6.12:residency_guard=1", true, GOLDEN),
    row("teo", [6, 14, 0], "teo-6.12:residency_guard=1", false, FEWEST),
    row("teo", [6, 19, 0], "teo-6.12", false, FEWEST),
    row("teo", [7, 0, 0], "teo", false, FEWEST),
    row("teo", [7, 1, 0], "teo", true, GOLDEN),
];

/// The newest version in the table that was compared with compiled kernel code; later ones may differ.
const NEWEST: [u16; 3] = [7, 3, u16::MAX];

/// What the kernel's own governor `name` of `release` (as `uname -r`, `6.12.117+deb13-amd64`) is here; nothing for another
/// governor, or where the release is no version. Where a distribution's name leaves the number of the stable release out
/// (`6.1.0-32-amd64`), the last of that series is taken, as the most alike where the series has several.
#[must_use]
pub fn shipped_version(name: &str, release: &str) -> Option<ShippedVersion> {
    let (version, stable) = version_of(release)?;
    let at = |stable| row_of(name, [version[0], version[1], stable]);
    match stable {
        Some(stable) => at(stable),
        None => {
            let (first, last) = (at(0)?, at(u16::MAX)?);
            Some(ShippedVersion { same: last.same && first.spec == last.spec, ..last })
        }
    }
}

fn row_of(name: &str, version: [u16; 3]) -> Option<ShippedVersion> {
    let found = SHIPPED_VERSIONS.iter().rev().find(|row| row.governor == name && row.since <= version)?;
    Some(ShippedVersion { same: found.same && version <= NEWEST, ..*found })
}

/// The first two numbers of `release`, and the third where it is that of the stable release.
fn version_of(release: &str) -> Option<([u16; 2], Option<u16>)> {
    let release = release.split_ascii_whitespace().next()?;
    let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
    let (numbers, rest) = release.split_at(end);
    let mut numbers = numbers.split('.').map(str::parse);
    let (version, patch) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let stable = match numbers.next() {
        None => 0,
        Some(stable) => stable.ok()?,
    };
    // A package's own number stands where the stable release's is left out; `-rc1` is none.
    let packaged = rest.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    Some(([version, patch], (stable > 0 || !packaged).then_some(stable)))
}

/// The versions that ship of the kernel's governor `name`, oldest first, each once.
#[must_use]
pub fn shipped_versions(name: &str) -> Vec<&'static str> {
    let mut out: Vec<&str> = Vec::new();
    for row in SHIPPED_VERSIONS.iter().filter(|row| row.governor == name) {
        if !out.contains(&row.spec) {
            out.push(row.spec);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_ascends_and_names_what_ships() {
        for pair in SHIPPED_VERSIONS.windows(2) {
            assert!((pair[0].governor, pair[0].since) < (pair[1].governor, pair[1].since), "{pair:?}");
        }
        for row in SHIPPED_VERSIONS {
            let spec = row.spec.parse().unwrap();
            crate::Instance::load(&spec, 4_000_000).unwrap_or_else(|e| panic!("{}: {e}", row.spec));
        }
        assert_eq!(shipped_versions("teo").last(), Some(&"teo"));
        assert!(shipped_versions("ladder").is_empty());
    }

    #[test]
    fn a_release_selects_its_row() {
        let of = |name, release| shipped_version(name, release).map(|v| (v.spec, v.same));
        for (name, release, expected) in [
            ("menu", "6.12.117+deb13-amd64 x86_64", ("menu-6.12", true)),
            ("menu", "6.12.48-1-lts", ("menu-6.12:no_pattern=1", false)),
            ("menu", "6.12", ("menu-6.1", false)),
            ("menu", "6.1.90", ("menu-6.1", true)),
            ("menu", "6.1.192", ("menu-6.1:rejected_endless=1", true)),
            ("menu", "6.1.0-32-amd64", ("menu-6.1:rejected_endless=1", false)),
            ("menu", "6.1.0-rc3", ("menu-6.1", true)),
            ("menu", "5.15.0-91-generic", ("menu-6.1", true)),
            ("menu", "5.10.262", ("menu-6.1", false)),
            ("menu", "6.18.44", ("menu", false)),
            ("menu", "7.3.4+deb14-amd64", ("menu", true)),
            ("menu", "9.1.0", ("menu", false)),
            ("teo", "6.12.63", ("teo-6.12:residency_guard=1", true)),
            ("teo", "6.12.64", ("teo-6.12", true)),
            ("teo", "6.13.2", ("teo-6.12:residency_guard=1", true)),
            ("teo", "6.6.0-rk3588", ("teo-6.6", true)),
        ] {
            assert_eq!(of(name, release), Some(expected), "{name} {release}");
        }
        for (name, release) in [("ladder", "6.12.1"), ("menu", ""), ("menu", "x86_64"), ("menu", "6.99999")] {
            assert_eq!(of(name, release), None, "{name} {release}");
        }
    }
}
