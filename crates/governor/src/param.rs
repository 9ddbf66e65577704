// SPDX-License-Identifier: GPL-2.0-only
use serde::{Deserialize, Serialize};

/// A `module_param` of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    pub name: String,
    /// What it does (`MODULE_PARM_DESC`); empty if the governor does not say.
    pub description: String,
    /// The type as given to `module_param`: `bool`, `uint` and so on.
    pub type_name: String,
    pub value: String,
}

/// A parameter as a governor's object declares it.
#[derive(Clone)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) type_name: String,
    /// Nothing for a type that the host does not know.
    pub(crate) kind: Option<Kind>,
    /// Of its variable, where the object runs.
    pub(crate) address: u64,
    /// Bytes of it, at most 8; 0 where the type is not known.
    pub(crate) size: usize,
}

/// How a parameter's bytes are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Signed { bits: u32 },
    Unsigned { bits: u32 },
}

impl Kind {
    /// From the type's name and the variable's size in bytes.
    pub(crate) fn new(type_name: &str, size: usize) -> Option<Self> {
        let bits = match size {
            1 => 8,
            2 => 16,
            4 => 32,
            8 => 64,
            _ => return None,
        };
        match type_name {
            "bool" if bits == 8 => Some(Self::Bool),
            "short" | "int" | "long" => Some(Self::Signed { bits }),
            "byte" | "ushort" | "uint" | "ulong" | "ullong" | "hexint" => Some(Self::Unsigned { bits }),
            _ => None,
        }
    }

    /// What values there are, for an error message.
    pub(crate) fn range(self) -> String {
        match self {
            Self::Bool => "0 or 1, also n or y, off or on, false or true".to_owned(),
            _ => {
                let (low, high) = self.limits();
                format!("a whole number from {low} to {high}, also as 0x...")
            }
        }
    }

    /// The bytes' value, as the low bits of a `u64`, or nothing if `text` is no value of this type.
    pub(crate) fn parse(self, text: &str) -> Option<u64> {
        if self == Self::Bool {
            return match text.to_ascii_lowercase().as_str() {
                "1" | "y" | "yes" | "on" | "t" | "true" => Some(1),
                "0" | "n" | "no" | "off" | "f" | "false" => Some(0),
                _ => None,
            };
        }
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |d| (true, d));
        let size = match digits.strip_prefix("0x") {
            Some(hex) if !hex.starts_with('+') => i128::from_str_radix(hex, 16).ok()?,
            None if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse::<i128>().ok()?,
            _ => return None,
        };
        let value = if negative { -size } else { size };
        let (low, high) = self.limits();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "in range; the low bits of the two's complement are wanted"
        )]
        (low..=high).contains(&value).then_some(value as u64)
    }

    /// The text of a value; the reverse of [`Kind::parse`].
    pub(crate) fn show(self, raw: u64) -> String {
        match self {
            Self::Bool => if raw == 0 { "0" } else { "1" }.to_owned(),
            Self::Signed { bits } => {
                let shift = 64 - bits;
                ((raw << shift).cast_signed() >> shift).to_string()
            }
            Self::Unsigned { .. } => raw.to_string(),
        }
    }

    fn limits(self) -> (i128, i128) {
        match self {
            Self::Bool => (0, 1),
            Self::Signed { bits } => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            Self::Unsigned { bits } => (0, (1 << bits) - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_held_to_the_range_of_their_type() {
        let uint = Kind::new("uint", 4).unwrap();
        assert_eq!(uint.parse("4294967295"), Some(4_294_967_295));
        assert_eq!(uint.parse("0x10"), Some(16));
        for wrong in ["4294967296", "-1", "", "-", "+1", "0x", "0x-1", "0x+1", "1.5", "6 "] {
            assert_eq!(uint.parse(wrong), None, "{wrong}");
        }
        let int = Kind::new("int", 4).unwrap();
        for text in ["-2147483648", "2147483647", "0", "-1"] {
            assert_eq!(int.show(int.parse(text).unwrap()), text);
        }
        assert_eq!(int.parse("2147483648"), None);
        let ulong = Kind::new("ulong", 8).unwrap();
        assert_eq!(ulong.show(ulong.parse("18446744073709551615").unwrap()), "18446744073709551615");
        let short = Kind::new("short", 2).unwrap();
        assert_eq!(short.show(0xffff), "-1");
    }

    #[test]
    fn bools_read_as_the_kernel_reads_them() {
        let bool = Kind::new("bool", 1).unwrap();
        assert_eq!([bool.parse("Y"), bool.parse("off"), bool.parse("2")], [Some(1), Some(0), None]);
        assert_eq!(Kind::new("charp", 8), None);
    }
}
