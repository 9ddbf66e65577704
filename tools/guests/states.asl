/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Three idle states for each CPU of a QEMU machine; with polling the kernel has four. All execute HLT: the driver
 * acpi_idle takes every entry of _CST of type C1 that names no MWAIT hint for that. A state's target residency is twice
 * its latency in us, the third number of an entry.
 */
DefinitionBlock ("states.aml", "SSDT", 2, "IDLEW", "STATES", 1)
{
	External (\_SB.CPUS.C000, DeviceObj)
	External (\_SB.CPUS.C001, DeviceObj)
	Name (\STAT, Package ()
	{
		3,
		Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0) }, 1, 2, 1000 },
		Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0) }, 1, 40, 400 },
		Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0) }, 1, 200, 100 }
	})
	Scope (\_SB.CPUS.C000) { Method (_CST) { Return (\STAT) } }
	Scope (\_SB.CPUS.C001) { Method (_CST) { Return (\STAT) } }
}
