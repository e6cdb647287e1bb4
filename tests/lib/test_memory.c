// SPDX-License-Identifier: GPL-2.0-only
/* Memory: addresses, capacity, sharing between contexts and processes. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "bed.h"

FIXTURE(memory)
{
	struct bed bed;
};

FIXTURE_SETUP(memory)
{
	OK(bed_open(&self->bed));
}

FIXTURE_TEARDOWN(memory)
{
	bed_close(&self->bed);
}

TEST_F(memory, addresses_are_pointers)
{
	struct cmx_mem *small, *large;
	uint64_t bytes;

	OK(cmx_mem_alloc(self->bed.ctx, 0, 1, 0, &small));
	OK(cmx_mem_alloc(self->bed.ctx, 1, 64ull << 30, 0, &large));
	EXPECT_EQ(cmx_va(cmx_mem_ptr(small)), cmx_mem_va(small));
	EXPECT_EQ(4096, cmx_mem_size(small));
	EXPECT_EQ(64ull << 30, cmx_mem_size(large));
	EXPECT_EQ(0, cmx_mem_va(large) & ((2 << 20) - 1));
	EXPECT_EQ(1, cmx_mem_entity(large));
	OK(cmx_mem_resident(large, &bytes));
	EXPECT_EQ(0, bytes);
	((char *)cmx_mem_ptr(large))[50ull << 30] = 1;
	OK(cmx_mem_resident(large, &bytes));
	EXPECT_GT(bytes, 0);
	EXPECT_LE(bytes, 2 << 20);
	cmx_mem_free(large);
	cmx_mem_free(small);
}

TEST_F(memory, over_capacity_names_the_numbers)
{
	struct drm_cmx_info_entity entity;
	struct cmx_mem *mem, *more;

	OK(cmx_entity_info(self->bed.ctx, 2, &entity));
	OK(cmx_mem_alloc(self->bed.ctx, 2, entity.capacity - entity.used - 8192, CMX_MEM_NO_DATA,
			 &mem));
	EXPECT_EQ(-ENOSPC, cmx_mem_alloc(self->bed.ctx, 2, 12288, 0, &more));
	EXPECT_EQ(12288, cmx_last_error()->value);
	EXPECT_EQ(8192, cmx_last_error()->limit);
	EXPECT_NE(NULL, strstr(cmx_last_error()->text, "8192"));
	OK(cmx_mem_alloc(self->bed.ctx, 2, 8192, 0, &more));
	cmx_mem_free(mem);
	cmx_mem_free(more);
	OK(cmx_entity_info(self->bed.ctx, 2, &entity));
	EXPECT_EQ(0, entity.used);
}

TEST_F(memory, bad_arguments)
{
	uint32_t entities = cmx_device(self->bed.ctx)->num_entities;
	struct cmx_mem *mem;

	EXPECT_EQ(-EINVAL, cmx_mem_alloc(self->bed.ctx, 0, 0, 0, &mem));
	EXPECT_STREQ("size", cmx_last_error()->field);
	EXPECT_EQ(-EINVAL, cmx_mem_alloc(self->bed.ctx, 0, UINT64_MAX, 0, &mem));
	EXPECT_EQ(-EINVAL, cmx_mem_alloc(self->bed.ctx, 0, 4096, 8, &mem));
	EXPECT_STREQ("flags", cmx_last_error()->field);
	EXPECT_GT(0, cmx_mem_alloc(self->bed.ctx, entities, 4096, 0, &mem));
	EXPECT_STREQ("entity", cmx_last_error()->field);
	EXPECT_EQ(entities, cmx_last_error()->value);
}

TEST_F(memory, without_bytes)
{
	struct cmx_mem *none, *some;
	struct cmx_cqe cqe;

	OK(cmx_mem_alloc(self->bed.ctx, 0, 1 << 20, CMX_MEM_NO_DATA, &none));
	OK(bed_memory(&self->bed, 0, 1 << 20, 1, &some));
	EXPECT_EQ(NULL, cmx_mem_ptr(none));
	/* Copies to it are dropped, from it give zeros. */
	OK(cmx_queue_copy(self->bed.q, cmx_mem_va(none), cmx_mem_va(some), 1 << 20, 0, 0));
	OK(cmx_queue_copy(self->bed.q, cmx_mem_va(some), cmx_mem_va(none), 4096, 1, 1));
	OK(bed_finish(&self->bed, 1, &cqe));
	for (int i = 0; i < 4096; i++)
		ASSERT_EQ(0, ((char *)cmx_mem_ptr(some))[i]);
	ASSERT_NE(0, ((uint64_t *)cmx_mem_ptr(some))[512]);
	EXPECT_GT(0, cmx_wait_memory(self->bed.ctx, cmx_mem_va(none), CMX_COND_EQ, 0, NULL));
}

TEST_F(memory, read_only_for_the_device)
{
	struct cmx_mem *mem, *dst;
	struct cmx_cqe cqe;

	OK(cmx_mem_alloc(self->bed.ctx, 0, 4096, CMX_MEM_DEVICE_READ, &mem));
	OK(cmx_mem_alloc(self->bed.ctx, 0, 4096, 0, &dst));
	((char *)cmx_mem_ptr(mem))[0] = 42;
	OK(cmx_queue_copy(self->bed.q, cmx_mem_va(dst), cmx_mem_va(mem), 4096, 1, 0));
	OK(bed_finish(&self->bed, 1, &cqe));
	EXPECT_EQ(42, ((char *)cmx_mem_ptr(dst))[0]);
	OK(cmx_queue_copy(self->bed.q, cmx_mem_va(mem), cmx_mem_va(dst), 4096, 1, 0));
	OK(cmx_queue_submit(self->bed.q));
	OK(cmx_wait_completions(self->bed.cq, 1, NULL));
	ASSERT_EQ(1, cmx_cq_read(self->bed.cq, &cqe));
	EXPECT_NE(0, cqe.status);
}

TEST_F(memory, imported_twice_is_one_handle)
{
	struct cmx_mem *mem, *again, *third;
	int fd;

	OK(cmx_mem_alloc(self->bed.ctx, 0, 8192, 0, &mem));
	OK(cmx_mem_export(mem, &fd));
	OK(cmx_mem_import(self->bed.ctx, fd, 0, &again));
	EXPECT_EQ(cmx_mem_handle(mem), cmx_mem_handle(again));
	EXPECT_NE(cmx_mem_va(mem), cmx_mem_va(again));
	strcpy(cmx_mem_ptr(mem), "the same bytes");
	EXPECT_STREQ("the same bytes", cmx_mem_ptr(again));
	cmx_mem_free(mem);
	/* The handle lives on for the other one. */
	OK(cmx_mem_import(self->bed.ctx, fd, 0, &third));
	EXPECT_STREQ("the same bytes", cmx_mem_ptr(third));
	cmx_mem_free(again);
	cmx_mem_free(third);
	close(fd);
	EXPECT_GT(0, cmx_mem_import(self->bed.ctx, 0, 0, &mem));
}

/* The other process: copy what it got to the second half, with its own device file. */
static int other_process(int fd)
{
	struct bed bed = {};
	struct cmx_mem *mem;
	struct cmx_cqe cqe;
	int ret = bed_open(&bed);

	if (!ret)
		ret = cmx_mem_import(bed.ctx, fd, 0, &mem);
	if (!ret)
		ret = cmx_queue_copy(bed.far, cmx_mem_va(mem) + 4096, cmx_mem_va(mem), 4096,
				     CMX_ENTRY_COMPLETE, 0);
	if (!ret)
		ret = bed_finish(&bed, 1, &cqe);
	bed_close(&bed);
	return ret ? 1 : 0;
}

TEST_F(memory, between_processes)
{
	struct cmx_mem *mem;
	int fd, status;
	pid_t pid;

	OK(bed_memory(&self->bed, 0, 8192, 11, &mem));
	OK(cmx_mem_export(mem, &fd));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(other_process(fd));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, memcmp(cmx_mem_ptr(mem), (char *)cmx_mem_ptr(mem) + 4096, 4096));
	close(fd);
}

/* What a child may do with its parent's context: nothing, and close it. */
static int forked_child(struct bed *bed, struct cmx_mem *mem)
{
	struct cmx_mem *more;
	struct cmx_cqe cqe;
	uint32_t actor;
	int fd;

	if (cmx_mem_alloc(bed->ctx, 0, 4096, 0, &more) != -EPERM ||
	    cmx_mem_export(mem, &fd) != -EPERM ||
	    cmx_queue_nop(bed->q, 0, 0) != -EPERM ||
	    cmx_queue_submit(bed->q) != -EPERM ||
	    cmx_cq_read(bed->cq, &cqe) != -EPERM || cmx_cq_ready(bed->cq) ||
	    cmx_queue_space(bed->q) ||
	    cmx_cq_poll(bed->cq, &cqe) != -EPERM ||
	    cmx_wait_idle(bed->ctx, NULL) != -EPERM ||
	    cmx_actor_add(cmx_timeline_default(bed->ctx), &actor) != -EPERM ||
	    cmx_runner_start(bed->ctx, 1) != -EPERM ||
	    cmx_runner_stop(bed->ctx) != -EPERM ||
	    cmx_cq_destroy(bed->cq) != -EPERM)
		return 1;
	cmx_mem_free(mem);
	cmx_close(bed->ctx);
	return 0;
}

TEST_F(memory, a_forked_child_is_kept_out)
{
	struct cmx_mem *mem;
	struct cmx_cqe cqe;
	int status;
	pid_t pid;

	OK(bed_memory(&self->bed, 0, 8192, 11, &mem));
	OK(cmx_runner_start(self->bed.ctx, 2));
	/* Let them get to sleep: the child has their locks as they are then. */
	usleep(20000);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(forked_child(&self->bed, mem));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/* And the parent goes on as if nothing had happened. */
	OK(cmx_queue_fill(self->bed.q, cmx_mem_va(mem), 8192, 7, 1, CMX_ENTRY_COMPLETE, 0));
	OK(bed_finish(&self->bed, 1, &cqe));
	EXPECT_EQ(7, ((char *)cmx_mem_ptr(mem))[8191]);
}

TEST(several_contexts_have_disjoint_addresses)
{
	struct bed beds[3] = {};
	struct cmx_mem *mem[3];

	for (int i = 0; i < 3; i++) {
		OK(bed_open(&beds[i]));
		OK(cmx_mem_alloc(beds[i].ctx, 0, 1ull << 30, 0, &mem[i]));
		for (int k = 0; k < i; k++)
			EXPECT_NE(cmx_mem_va(mem[i]), cmx_mem_va(mem[k]));
	}
	for (int i = 0; i < 3; i++)
		bed_close(&beds[i]);
}

TEST_HARNESS_MAIN
