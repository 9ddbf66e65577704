/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_IRQ_WORK_H
#define _LINUX_IRQ_WORK_H

#include <linux/types.h>

/* As work queues: what is queued does not run. */
struct irq_work {
	void (*func)(struct irq_work *work);
	bool queued;
};

#define IRQ_WORK_INIT(f)		{ .func = (f) }
#define DEFINE_IRQ_WORK(name, f)	struct irq_work name = IRQ_WORK_INIT(f)

static inline void init_irq_work(struct irq_work *work, void (*func)(struct irq_work *work))
{
	work->func = func;
	work->queued = false;
}

static inline bool irq_work_queue(struct irq_work *work)
{
	bool before = work->queued;

	work->queued = true;
	return !before;
}

#define irq_work_sync(work)		((void)((work)->queued = false))

#endif
