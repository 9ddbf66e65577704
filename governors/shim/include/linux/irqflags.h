/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_IRQFLAGS_H
#define _LINUX_IRQFLAGS_H

/* A governor is called where nothing interrupts it. */
#define local_irq_disable()		do { } while (0)
#define local_irq_enable()		do { } while (0)
#define local_irq_save(flags)		((void)((flags) = 0))
#define local_irq_restore(flags)	((void)(flags))
#define irqs_disabled()			true

#endif
