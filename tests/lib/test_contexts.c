// SPDX-License-Identifier: GPL-2.0-only
/* As many clients as the machine has dies, all at once in one process. */
#include <sys/resource.h>

#include <kselftest_harness.h>

#include "bed.h"

#define CLIENTS		768
#define QUEUES		4

static uint64_t mem_free_kb(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long long kb = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemFree: %llu", &kb) == 1)
			break;
	if (file)
		fclose(file);
	return kb;
}

/* Four queues on die @index, and a copy from there to another node's die. */
static int client(struct cmx_ctx **ctx, uint32_t index)
{
	static const uint32_t classes[QUEUES] = { CMX_QUEUE_STREAM, CMX_QUEUE_STREAM,
						  CMX_QUEUE_SDMA, CMX_QUEUE_SDMA };
	struct cmx_queue_desc desc = { .entity = index, .slots = 64 };
	struct cmx_mem *near, *far;
	struct cmx_queue *q = NULL;
	int ret = cmx_open(NULL, 0, ctx);

	if (!ret)
		ret = cmx_cq_create(*ctx, NULL, 64, CMX_CQ_BACKPRESSURE, &desc.cq);
	for (uint32_t i = 0; !ret && i < QUEUES; i++) {
		desc.queue_class = classes[i];
		ret = cmx_queue_create(*ctx, &desc, &q);
	}
	if (!ret)
		ret = cmx_mem_alloc(*ctx, index, 4096, CMX_MEM_NO_DATA, &near);
	if (!ret)
		ret = cmx_mem_alloc(*ctx, (index + 16) % CLIENTS, 4096, CMX_MEM_NO_DATA, &far);
	if (!ret)
		ret = cmx_queue_copy(q, cmx_mem_va(far), cmx_mem_va(near), 4096,
				     CMX_ENTRY_COMPLETE, 1);
	if (!ret)
		ret = cmx_queue_submit(q);
	return ret ? ret : cmx_wait_completions(desc.cq, 1, NULL);
}

TEST(one_for_each_die)
{
	struct rlimit files = { .rlim_cur = 4 * CLIENTS, .rlim_max = 4 * CLIENTS };
	struct cmx_ctx *ctx[CLIENTS] = { NULL };
	uint64_t before;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	/* The first one brings in what all share. */
	OK(client(&ctx[0], 0));
	before = mem_free_kb();
	for (uint32_t i = 1; i < CLIENTS; i++) {
		ASSERT_EQ(0, client(&ctx[i], i)) {
			TH_LOG("client %u: %s", i, cmx_last_error()->text);
		}
	}
	printf("# %u clients with %u queues each take %llu kB\n", CLIENTS, QUEUES,
	       (unsigned long long)(before - mem_free_kb()));
	for (uint32_t i = 0; i < CLIENTS; i++)
		cmx_close(ctx[i]);
}

TEST_HARNESS_MAIN
