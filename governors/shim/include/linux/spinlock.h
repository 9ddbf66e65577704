/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_SPINLOCK_H
#define _LINUX_SPINLOCK_H

#include <linux/irqflags.h>
#include <linux/types.h>

/* One CPU is asked at a time: a lock is always free. */
typedef struct {
	bool held;
} spinlock_t;

typedef spinlock_t raw_spinlock_t;

#define DEFINE_SPINLOCK(name)			spinlock_t name = { .held = false }
#define DEFINE_RAW_SPINLOCK(name)		raw_spinlock_t name = { .held = false }
#define spin_lock_init(lock)			((void)((lock)->held = false))
#define spin_lock(lock)				((void)((lock)->held = true))
#define spin_unlock(lock)			((void)((lock)->held = false))
#define spin_lock_irq(lock)			spin_lock(lock)
#define spin_unlock_irq(lock)			spin_unlock(lock)
#define spin_lock_irqsave(lock, flags)		((void)((flags) = 0), spin_lock(lock))
#define spin_unlock_irqrestore(lock, flags)	((void)(flags), spin_unlock(lock))
#define spin_trylock(lock)			((lock)->held ? false : ((lock)->held = true))
#define raw_spin_lock_init(lock)		spin_lock_init(lock)
#define raw_spin_lock(lock)			spin_lock(lock)
#define raw_spin_unlock(lock)			spin_unlock(lock)
#define raw_spin_lock_irqsave(lock, flags)	spin_lock_irqsave(lock, flags)
#define raw_spin_unlock_irqrestore(lock, flags)	spin_unlock_irqrestore(lock, flags)

#endif
