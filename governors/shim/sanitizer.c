// SPDX-License-Identifier: GPL-2.0-only
/*
 * The run-time side of the sanitizers, for the copy of a governor that
 * "idlewise check" runs: what the compiler's checks call, as lib/ubsan.c and
 * mm/kasan are for a kernel.
 *
 * Linked with a governor that was compiled with include/idlewise/sanitizer.h.
 * A fault goes into the log as a line of level 4 that begins with '@': the kind
 * of fault, the place, and what is wrong. crates/governor/src/fault.rs reads it.
 */
#define IDLEWISE_HOST

#include <link.h>

#include <linux/cpuidle.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/string.h>

/* What the governor's file calls instead of cpuidle_register_governor(), memset() and its kin. */
int idlewise_register_checked(struct cpuidle_governor *gov);
void *idlewise_checked_memset(void *to, int byte, size_t size);
void *idlewise_checked_memcpy(void *to, const void *from, size_t size);
void *idlewise_checked_memmove(void *to, const void *from, size_t size);

#define MOST_CPUS	8
#define MOST_OBJECTS	64
#define LARGEST_IMAGE	65536

#pragma GCC visibility push(hidden)
extern const char __start_idlewise_percpu[], __stop_idlewise_percpu[];
extern const ElfW(Ehdr) __ehdr_start;
extern const char _end[];
#pragma GCC visibility pop

/* A variable with the bytes behind it that belong to none, as compilers write it. */
struct idlewise_object {
	unsigned long start;
	unsigned long size;
	unsigned long size_with_gap;
	const char *name;
	const char *module;
	unsigned long initialised_late;
	const void *place;
	unsigned long indicator;
};

/* Filled when the object is loaded, so it must be in the part of memory that a reset brings back: not in .bss. */
static const struct idlewise_object *objects[MOST_OBJECTS] __section(".data");
static unsigned long object_counts[MOST_OBJECTS] __section(".data");
static int nr_objects __section(".data");

static struct cpuidle_governor *checked;
static struct cpuidle_device *devices[MOST_CPUS];
static int nr_devices;

/* The call that is running: its CPU, the driver's table, and where the governor's part of the stack begins. */
static struct cpuidle_device *running;
static struct cpuidle_driver *table;
static unsigned long stack_top;

/* The initial values of per-CPU variables, which no call may change: compilers leave some accesses to them unchecked. */
static char initial[LARGEST_IMAGE];

static void fault(char kind, unsigned long at, const char *what, unsigned long size)
{
	unsigned long place = at - (unsigned long)&__ehdr_start;

	if (size)
		idlewise_printk("4@%c+%lx\t%s (%lu bytes)\n", kind, place, what, size);
	else
		idlewise_printk("4@%c+%lx\t%s\n", kind, place, what);
}

/* Redzones of the stack are written into it by the code itself. The host has put memory there for the stack. */
static signed char *shadow(unsigned long address)
{
	return (signed char *)((address >> 3) + IDLEWISE_SHADOW);
}

static bool inside(unsigned long at, unsigned long size, const void *start, unsigned long room)
{
	unsigned long from = (unsigned long)start;

	return at >= from && at - from < room && size <= room - (at - from);
}

static const char *block_of(const struct cpuidle_device *dev)
{
	return (const char *)dev - ((const char *)&idlewise_device - __start_idlewise_percpu);
}

static bool in_gap(unsigned long at, unsigned long size)
{
	unsigned long k;
	int i;

	for (i = 0; i < nr_objects; i++) {
		for (k = 0; k < object_counts[i]; k++) {
			const struct idlewise_object *o = &objects[i][k];

			if (at + size > o->start + o->size && at < o->start + o->size_with_gap &&
			    at >= o->start)
				return true;
		}
	}
	return false;
}

static bool on_poisoned_stack(unsigned long at, unsigned long size)
{
	unsigned long byte;

	for (byte = at; byte < at + size; byte++) {
		signed char left = *shadow(byte);

		if (left && (signed char)(byte & 7) >= left)
			return true;
	}
	return false;
}

static void check(unsigned long at, unsigned long size, bool store, unsigned long by)
{
	unsigned long room = __stop_idlewise_percpu - __start_idlewise_percpu;
	unsigned long here = (unsigned long)__builtin_frame_address(0);
	int i;

	if (!running || !size)
		return;
	if (at >= here && at < stack_top) {
		if (on_poisoned_stack(at, size))
			fault('m', by, "touches memory next to its local variables", size);
		return;
	}
	if (inside(at, size, block_of(running), room))
		return;
	for (i = 0; i < nr_devices; i++) {
		if (inside(at, 1, block_of(devices[i]), room)) {
			fault('c', by, store ? "writes to another CPU's memory" :
					       "reads another CPU's memory", size);
			return;
		}
	}
	if (inside(at, 1, __start_idlewise_percpu, room)) {
		fault('c', by, store ? "writes to a per-CPU variable of no CPU" :
				       "reads a per-CPU variable of no CPU", size);
		return;
	}
	if (inside(at, size, &__ehdr_start, _end - (const char *)&__ehdr_start)) {
		if (in_gap(at, size))
			fault('m', by, "touches memory next to a variable", size);
		return;
	}
	/* The ways to the CPUs' memory are the host's. */
	if (inside(at, size, idlewise_env.per_cpu_offset, nr_devices * sizeof(unsigned long)) && !store)
		return;
	if (table && inside(at, size, table, sizeof(*table))) {
		if (store)
			fault('c', by, "writes to the driver's table, which CPUs share", size);
		return;
	}
	fault('m', by, store ? "writes to memory that is not its own" :
			       "reads memory that is not its own", size);
}

static void enter(struct cpuidle_driver *drv, struct cpuidle_device *dev, unsigned long top)
{
	running = dev;
	table = drv;
	stack_top = top;
}

static void leave(void *function)
{
	char *image = (char *)__start_idlewise_percpu;
	size_t size = __stop_idlewise_percpu - __start_idlewise_percpu;

	running = NULL;
	if (size > LARGEST_IMAGE || !memcmp(image, initial, size))
		return;
	memcpy(image, initial, size);
	fault('c', (unsigned long)function + 1, "writes to a per-CPU variable of no CPU", 0);
}

static int checked_enable(struct cpuidle_driver *drv, struct cpuidle_device *dev)
{
	int err = 0;
	int i;

	for (i = 0; i < nr_devices && devices[i] != dev; i++)
		;
	if (i == nr_devices && nr_devices < MOST_CPUS)
		devices[nr_devices++] = dev;
	enter(drv, dev, (unsigned long)__builtin_frame_address(0));
	if (checked->enable)
		err = checked->enable(drv, dev);
	leave(checked->enable);
	return err;
}

static int checked_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	int idx;

	enter(drv, dev, (unsigned long)__builtin_frame_address(0));
	idx = checked->select(drv, dev, stop_tick);
	leave(checked->select);
	return idx;
}

static void checked_reflect(struct cpuidle_device *dev, int index)
{
	enter(table, dev, (unsigned long)__builtin_frame_address(0));
	if (checked->reflect)
		checked->reflect(dev, index);
	leave(checked->reflect);
}

static struct cpuidle_governor watched = {
	.enable		= checked_enable,
	.select		= checked_select,
	.reflect	= checked_reflect,
};

/**
 * idlewise_register_checked - register a governor with its calls watched
 * @gov: the governor
 *
 * Return: as cpuidle_register_governor().
 */
int idlewise_register_checked(struct cpuidle_governor *gov)
{
	if (gov && gov->select && (!checked || gov->rating > checked->rating)) {
		size_t size = __stop_idlewise_percpu - __start_idlewise_percpu;

		checked = gov;
		memcpy(initial, __start_idlewise_percpu, size < LARGEST_IMAGE ? size : LARGEST_IMAGE);
		memcpy(watched.name, gov->name, sizeof(watched.name));
		watched.rating = gov->rating;
		idlewise_env.governor = NULL;
		return cpuidle_register_governor(&watched);
	}
	return checked ? 0 : cpuidle_register_governor(gov);
}

void *idlewise_checked_memset(void *to, int byte, size_t size)
{
	check((unsigned long)to, size, true, (unsigned long)__builtin_return_address(0));
	return memset(to, byte, size);
}

void *idlewise_checked_memcpy(void *to, const void *from, size_t size)
{
	check((unsigned long)to, size, true, (unsigned long)__builtin_return_address(0));
	check((unsigned long)from, size, false, (unsigned long)__builtin_return_address(0));
	return memcpy(to, from, size);
}

void *idlewise_checked_memmove(void *to, const void *from, size_t size)
{
	check((unsigned long)to, size, true, (unsigned long)__builtin_return_address(0));
	check((unsigned long)from, size, false, (unsigned long)__builtin_return_address(0));
	return memmove(to, from, size);
}

/* What -fsanitize=kernel-address calls. The names are the compiler's. */
#pragma GCC visibility push(hidden)
#define ACCESS(size)									\
void __asan_load##size##_noabort(unsigned long at);					\
void __asan_load##size##_noabort(unsigned long at)					\
{											\
	check(at, size, false, (unsigned long)__builtin_return_address(0));		\
}											\
void __asan_store##size##_noabort(unsigned long at);					\
void __asan_store##size##_noabort(unsigned long at)					\
{											\
	check(at, size, true, (unsigned long)__builtin_return_address(0));		\
}

ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __asan_loadN_noabort(unsigned long at, unsigned long size);
void __asan_loadN_noabort(unsigned long at, unsigned long size)
{
	check(at, size, false, (unsigned long)__builtin_return_address(0));
}

void __asan_storeN_noabort(unsigned long at, unsigned long size);
void __asan_storeN_noabort(unsigned long at, unsigned long size)
{
	check(at, size, true, (unsigned long)__builtin_return_address(0));
}

void __asan_handle_no_return(void);
void __asan_handle_no_return(void)
{
}

void __asan_register_globals(const struct idlewise_object *first, unsigned long count);
void __asan_register_globals(const struct idlewise_object *first, unsigned long count)
{
	if (nr_objects == MOST_OBJECTS)
		return;
	objects[nr_objects] = first;
	object_counts[nr_objects++] = count;
}

void __asan_unregister_globals(const struct idlewise_object *first, unsigned long count);
void __asan_unregister_globals(const struct idlewise_object *first, unsigned long count)
{
	(void)first;
	(void)count;
}

void __asan_poison_stack_memory(unsigned long at, unsigned long size);
void __asan_poison_stack_memory(unsigned long at, unsigned long size)
{
	memset(shadow(at), -8, size >> 3);
}

void __asan_unpoison_stack_memory(unsigned long at, unsigned long size);
void __asan_unpoison_stack_memory(unsigned long at, unsigned long size)
{
	memset(shadow(at), 0, size >> 3);
	if (size & 7)
		*shadow(at + size) = size & 7;
}

/* What -fsanitize=undefined calls: each begins with the place. */
struct idlewise_place {
	const char *file;
	u32 line;
	u32 column;
};

#define UNDEFINED(name, kind, what)							\
void __ubsan_handle_##name(const struct idlewise_place *at);				\
void __ubsan_handle_##name(const struct idlewise_place *at)				\
{											\
	idlewise_printk("4@" kind ":%u:%s\t%s\n", at->line, at->file, what);		\
}

UNDEFINED(add_overflow, "a", "signed overflow of a sum")
UNDEFINED(sub_overflow, "a", "signed overflow of a difference")
UNDEFINED(mul_overflow, "a", "signed overflow of a product")
UNDEFINED(negate_overflow, "a", "overflow of a negation")
UNDEFINED(divrem_overflow, "a", "division by zero, or a quotient that overflows")
UNDEFINED(shift_out_of_bounds, "a", "shift by more bits than there are, or of a negative number")
UNDEFINED(float_cast_overflow, "a", "conversion that overflows")
UNDEFINED(load_invalid_value, "a", "a value that its type does not have")
UNDEFINED(vla_bound_not_positive, "a", "length of an array that is not positive")
UNDEFINED(invalid_builtin, "a", "count of the zeros of zero")
UNDEFINED(out_of_bounds, "m", "index out of bounds")
UNDEFINED(type_mismatch_v1, "m", "access through a null or misaligned pointer, or beyond an object")
UNDEFINED(alignment_assumption, "m", "pointer that is not aligned")
UNDEFINED(pointer_overflow, "m", "pointer that overflows")
UNDEFINED(nonnull_arg, "m", "null pointer as an argument")

/* There is no way back. */
void __ubsan_handle_builtin_unreachable(const struct idlewise_place *at);
void __ubsan_handle_builtin_unreachable(const struct idlewise_place *at)
{
	idlewise_printk("4@a:%u:%s\tcode that must not be reached\n", at->line, at->file);
	__builtin_trap();
}
#pragma GCC visibility pop
