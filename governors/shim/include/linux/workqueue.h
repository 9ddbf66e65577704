/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_WORKQUEUE_H
#define _LINUX_WORKQUEUE_H

#include <linux/bitops.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/types.h>

/*
 * idlewise calls the governor's functions and nothing else runs: work that is
 * queued stays queued.
 */
struct work_struct;
typedef void (*work_func_t)(struct work_struct *work);

struct work_struct {
	work_func_t func;
	bool queued;
};

struct delayed_work {
	struct work_struct work;
};

#define DECLARE_WORK(name, f)			struct work_struct name = { .func = (f) }
#define DECLARE_DELAYED_WORK(name, f)		struct delayed_work name = { .work.func = (f) }
#define INIT_WORK(w, f)				((void)(*(w) = (struct work_struct){ .func = (f) }))
#define INIT_DELAYED_WORK(w, f)			INIT_WORK(&(w)->work, f)

static inline bool schedule_work(struct work_struct *work)
{
	bool before = work->queued;

	work->queued = true;
	return !before;
}

static inline bool schedule_delayed_work(struct delayed_work *work, unsigned long delay)
{
	(void)delay;
	return schedule_work(&work->work);
}

static inline bool cancel_work_sync(struct work_struct *work)
{
	bool before = work->queued;

	work->queued = false;
	return before;
}

#define schedule_work_on(cpu, work)		((void)(cpu), schedule_work(work))
#define work_pending(work)			((work)->queued)
#define cancel_delayed_work_sync(w)		cancel_work_sync(&(w)->work)

#endif
