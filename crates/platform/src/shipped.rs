// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use idlewise_model::near;

use crate::{Origin, Platform, PlatformError, SysfsDump};

const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// The platforms that come with idlewise: id and text of each file, by id.
#[must_use]
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    SHIPPED
}

/// How a compiled device tree begins.
const FDT_MAGIC: [u8; 4] = [0xd0, 0x0d, 0xfe, 0xed];

/// How compressed files begin, and what unpacks them.
const PACKED: [(&[u8], &str); 3] =
    [(b"\x1f\x8b", "gzip -d"), (b"\xfd7zXZ\0", "xz -d"), (b"\x28\xb5\x2f\xfd", "zstd -d")];

/// What the description of a recording says of its machine.
enum Described {
    /// All of it, as a platform file.
    Machine(String),
    /// The name of a platform.
    Platform(String),
}

/// That of the side-car `text`; nothing where it is a platform's own file, or says nothing.
fn described(text: &str) -> Option<Described> {
    let table: toml::Table = text.parse().ok()?;
    if let Some(machine) = table.get("machine").and_then(toml::Value::as_table) {
        return toml::to_string(machine).ok().map(Described::Machine);
    }
    let named = table.get("platform").and_then(toml::Value::as_str)?;
    Some(Described::Platform(named.to_owned()))
}

/// The shipped platform with that id; the machine of a recording's description (`.toml`); or the platform file (`.toml`), the source of a device tree, or the sysfs dump (any other
/// name) at that path.
///
/// # Errors
/// [`PlatformError::Unknown`] with the nearest ids, [`PlatformError::Read`], or what reading the
/// file says.
pub fn find(name_or_path: &str) -> Result<Platform, PlatformError> {
    if let Some((id, text)) = SHIPPED.iter().find(|(id, _)| *id == name_or_path) {
        return find_shipped(id, text);
    }
    let path = Path::new(name_or_path);
    let toml = path.extension().is_some_and(|e| e == "toml");
    if !path.exists() && !toml && !name_or_path.contains('/') {
        return Err(unknown(name_or_path));
    }
    let read = |reason: String| PlatformError::Read { path: name_or_path.to_string(), reason };
    let most = if toml { idlewise_files::LARGEST } else { idlewise_files::LARGEST_MADE };
    let bytes = idlewise_files::read_within(path, most).map_err(|e| read(e.to_string()))?;
    if bytes.starts_with(&FDT_MAGIC) {
        let what = format!(
            "a compiled device tree; dtc -I dtb -O dts {name_or_path} gives its source, which is read"
        );
        return Err(read(what));
    }
    if let Some((_, program)) = PACKED.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Err(read(format!("compressed; unpack it first: {program} {name_or_path}")));
    }
    if bytes.contains(&0) || (toml && std::str::from_utf8(&bytes).is_err()) {
        let what =
            "not a text file; expected a platform file (.toml) or the text of a sysfs dump or a device tree";
        return Err(read(what.to_string()));
    }
    // Mails come in many encodings; what counts in a dump is ASCII.
    let text = String::from_utf8_lossy(&bytes);
    let mut platform = if toml {
        match described(&text) {
            Some(Described::Machine(machine)) => {
                Platform::from_toml(&machine, &format!("{name_or_path}: [machine]"))?
            }
            Some(Described::Platform(named)) if SHIPPED.iter().any(|(id, _)| *id == named) => {
                return find(&named);
            }
            _ => Platform::from_toml(&text, name_or_path)?,
        }
    } else if Platform::is_device_tree(&text) {
        Platform::from_device_tree(&text, name_or_path)?
    } else {
        Platform::from_sysfs_dump(&text, name_or_path)?
    };
    platform.origin = match platform.origin {
        Origin::File(_) => Origin::File(PathBuf::from(path)),
        other => other,
    };
    Ok(platform)
}

/// What the text at `path` shows of idle states, be it too little for a platform.
///
/// # Errors
/// As [`find`].
pub fn find_states(path: &str) -> Result<SysfsDump, PlatformError> {
    let read = |e: std::io::Error| PlatformError::Read { path: path.to_string(), reason: e.to_string() };
    let bytes = idlewise_files::read_within(Path::new(path), idlewise_files::LARGEST_MADE).map_err(read)?;
    SysfsDump::of_any(&String::from_utf8_lossy(&bytes), path)
}

/// Each file is read once: a search asks for the same machine thousands of times.
fn find_shipped(id: &'static str, text: &str) -> Result<Platform, PlatformError> {
    static READ: Mutex<BTreeMap<&str, Platform>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(platform) = read.get(id) {
        return Ok(platform.clone());
    }
    let platform = Platform::from_toml(text, &format!("platforms/{id}.toml"))?;
    let platform = Platform { origin: Origin::Shipped, ..platform };
    read.insert(id, platform.clone());
    Ok(platform)
}

fn unknown(name: &str) -> PlatformError {
    let known = SHIPPED.iter().map(|(id, _)| *id);
    PlatformError::Unknown {
        name: name.to_string(),
        nearest: near(name, known).into_iter().map(str::to_owned).collect(),
    }
}
