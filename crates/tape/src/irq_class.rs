// SPDX-License-Identifier: GPL-2.0-only
/// What an interrupt's name says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IrqClass {
    Timer,
    Ipi,
    Device,
}

impl IrqClass {
    /// From a handler's name as in `/proc/interrupts` ("arch_timer", "IPI", "eth0").
    pub(crate) fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        if name.contains("timer") || name.contains("hpet") || name == "twd" {
            Self::Timer
        } else if name.starts_with("ipi") {
            Self::Ipi
        } else {
            Self::Device
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupt_names_tell_timers_from_ipis_and_devices() {
        assert_eq!(IrqClass::of("arch_timer"), IrqClass::Timer);
        assert_eq!(IrqClass::of("IPI"), IrqClass::Ipi);
        assert_eq!(IrqClass::of("eth0-tx"), IrqClass::Device);
    }
}
