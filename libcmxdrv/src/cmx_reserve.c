// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "cmx_reserve.h"

#if UINTPTR_MAX > 0xffffffffu
#define RESERVE_BASE	0x200000000000ull
#define RESERVE_END	0x600000000000ull
#define RESERVE_SIZE	0x100000000000ull	/* 16 TiB */
#define RESERVE_MIN	0x000400000000ull	/* 16 GiB */
#define RESERVE_SOME	0x010000000000ull	/* 1 TiB */
#define RESERVE_MANY	0x001000000000ull	/* 64 GiB: all memory of a die */
#else
#define RESERVE_BASE	0x40000000ull
#define RESERVE_END	0xa0000000ull
#define RESERVE_SIZE	0x20000000ull
#define RESERVE_MIN	0x04000000ull
#define RESERVE_SOME	RESERVE_MIN
#define RESERVE_MANY	RESERVE_MIN
#endif

/* Who has few contexts gets much for each; a thousand have to fit as well. */
#define RESERVE_FEW	3
#define RESERVE_LESS	16

static unsigned int reserved;

#define RESERVE_FLAGS	(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/*
 * A kernel too old for MAP_FIXED_NOREPLACE takes the address as a hint, so what comes back
 * is compared with what was asked for.
 */
static void *reserve_at(uint64_t address, uint64_t size)
{
	void *want = (void *)(uintptr_t)address;
	void *got = mmap(want, size, PROT_NONE, RESERVE_FLAGS | MAP_FIXED_NOREPLACE, -1, 0);

	if (got != MAP_FAILED && got != want) {
		munmap(got, size);
		return MAP_FAILED;
	}
	return got;
}

static uint64_t reserve_size(unsigned int before)
{
	if (before < RESERVE_FEW)
		return RESERVE_SIZE;
	return before < RESERVE_LESS ? RESERVE_SOME : RESERVE_MANY;
}

int cmx_reserve_take(void **start, uint64_t *size)
{
	void *got = MAP_FAILED;
	uint64_t bytes = reserve_size(__atomic_fetch_add(&reserved, 1, __ATOMIC_RELAXED));

	for (uint64_t at = RESERVE_BASE; bytes == RESERVE_SIZE && at + bytes <= RESERVE_END;
	     at += bytes) {
		got = reserve_at(at, bytes);
		if (got != MAP_FAILED)
			goto out;
	}
	for (; bytes >= RESERVE_MIN; bytes /= 4) {
		got = mmap(NULL, bytes, PROT_NONE, RESERVE_FLAGS, -1, 0);
		if (got != MAP_FAILED)
			goto out;
	}
	__atomic_fetch_sub(&reserved, 1, __ATOMIC_RELAXED);
	return -ENOMEM;

out:
	*start = got;
	*size = bytes;
	return 0;
}

void cmx_reserve_give(void *start, uint64_t size)
{
	__atomic_fetch_sub(&reserved, 1, __ATOMIC_RELAXED);
	munmap(start, size);
}

void cmx_reserve_restore(void *start, uint64_t size)
{
	/* Failing leaves the old mapping, which keeps the addresses taken as well. */
	(void)mmap(start, size, PROT_NONE, RESERVE_FLAGS | MAP_FIXED, -1, 0);
}
