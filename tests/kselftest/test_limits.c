// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits per file: that many can be had, one more is refused with the numbers, one given
 * back can be had again, and another file has its own. Small limits come from module
 * parameters; a limit above MOST is not tried.
 */
#include <errno.h>

#include "kselftest_harness.h"

#include "cmx_calls.h"

#define MOST	2000

/** struct limited - an object with a limit. */
struct limited {
	const char *name;
	__u16 limit;
	__u16 count;
	int (*create)(int fd, __u32 n, __u32 *handle);
	int (*destroy)(int fd, __u32 n, __u32 handle);
};

static int create_bo(int fd, __u32 n, __u32 *handle)
{
	(void)n;
	return abi_bo(fd, 0, ABI_PAGE, 0, handle);
}

static int destroy_bo(int fd, __u32 n, __u32 handle)
{
	(void)n;
	return abi_gem_close(fd, handle);
}

static __u32 the_bo;

static int create_mapping(int fd, __u32 n, __u32 *handle)
{
	int ret = n ? 0 : abi_bo(fd, 0, ABI_PAGE, 0, &the_bo);

	*handle = n;
	return ret ? ret : abi_map_va(fd, the_bo, ABI_VA + n * ABI_PAGE, ABI_PAGE, CMX_MAP_READ);
}

static int destroy_mapping(int fd, __u32 n, __u32 handle)
{
	(void)handle;
	return abi_unmap_va(fd, ABI_VA + n * ABI_PAGE, ABI_PAGE);
}

static int create_cq(int fd, __u32 n, __u32 *handle)
{
	struct drm_cmx_cq_create args = { .entries = 2 };
	int ret = abi_ioctl(fd, DRM_IOCTL_CMX_CQ_CREATE, &args);

	(void)n;
	*handle = args.handle;
	return ret;
}

static int destroy_cq(int fd, __u32 n, __u32 handle)
{
	(void)n;
	return abi_destroy(fd, CMX_OBJECT_CQ, handle);
}

static __u32 the_cq;

static int create_rq(int fd, __u32 n, __u32 *handle)
{
	struct drm_cmx_rq_create args = { .slots = 2 };
	int ret = n ? 0 : create_cq(fd, 0, &the_cq);

	args.cq = the_cq;
	if (!ret)
		ret = abi_ioctl(fd, DRM_IOCTL_CMX_RQ_CREATE, &args);
	*handle = args.handle;
	return ret;
}

static int destroy_rq(int fd, __u32 n, __u32 handle)
{
	(void)n;
	return abi_destroy(fd, CMX_OBJECT_RQ, handle);
}

static int create_queue(int fd, __u32 n, __u32 *handle)
{
	struct drm_cmx_queue_create args;
	int ret = n ? 0 : create_cq(fd, 0, &the_cq);

	abi_queue_args(&args, CMX_QUEUE_SDMA, the_cq);
	args.slots = 4;
	if (!ret)
		ret = abi_ioctl(fd, DRM_IOCTL_CMX_QUEUE_CREATE, &args);
	*handle = args.handle;
	return ret;
}

static int destroy_queue(int fd, __u32 n, __u32 handle)
{
	(void)n;
	return abi_destroy(fd, CMX_OBJECT_QUEUE, handle);
}

static int create_timeline(int fd, __u32 n, __u32 *handle)
{
	struct drm_cmx_timeline_create args = { 0 };
	int ret = abi_ioctl(fd, DRM_IOCTL_CMX_TIMELINE_CREATE, &args);

	(void)n;
	*handle = args.handle;
	return ret;
}

static int destroy_timeline(int fd, __u32 n, __u32 handle)
{
	(void)n;
	return abi_destroy(fd, CMX_OBJECT_TIMELINE, handle);
}

static int create_actor(int fd, __u32 n, __u32 *handle)
{
	struct drm_cmx_actor args = { .op = CMX_ACTOR_ADD };
	int ret = abi_ioctl(fd, DRM_IOCTL_CMX_ACTOR, &args);

	(void)n;
	*handle = args.actor;
	return ret;
}

static int destroy_actor(int fd, __u32 n, __u32 handle)
{
	struct drm_cmx_actor args = { .op = CMX_ACTOR_REMOVE, .actor = handle };

	(void)n;
	return abi_ioctl(fd, DRM_IOCTL_CMX_ACTOR, &args);
}

#define LIMITED(what, plural) {							\
	#plural, offsetof(struct drm_cmx_info_limits, max_##plural),		\
	offsetof(struct drm_cmx_info_client, plural), create_##what, destroy_##what }

static const struct limited limited[] = {
	LIMITED(bo, bos),
	LIMITED(mapping, mappings),
	LIMITED(cq, cqs),
	LIMITED(rq, rqs),
	LIMITED(queue, queues),
	LIMITED(timeline, timelines),
	LIMITED(actor, actors),
};

static __u32 number_at(const void *structure, __u16 offset)
{
	__u32 value;

	memcpy(&value, (const char *)structure + offset, sizeof(value));
	return value;
}

static __u32 client_count(int fd, const struct limited *l)
{
	struct drm_cmx_info_client client = { 0 };

	abi_info(fd, CMX_INFO_CLIENT, 0, &client, sizeof(client));
	return number_at(&client, l->count);
}

/* The limit that ends the row: the object's own, or that on ring pages. */
static bool at_limit(int fd, const struct limited *l, const struct drm_cmx_info_limits *limits)
{
	struct drm_cmx_info_extack extack;

	if (abi_extack(fd, &extack) || extack.error != EMFILE)
		return false;
	return extack.limit == number_at(limits, l->limit) ||
	       extack.limit == limits->max_ring_pages || extack.limit == limits->max_actors;
}

TEST(every_limit)
{
	static __u32 handles[MOST + 1];
	struct drm_cmx_info_limits limits;
	unsigned int i, tried = 0;

	for (i = 0; i < ABI_ARRAY_SIZE(limited); i++) {
		const struct limited *l = &limited[i];
		int fd = abi_open(), other = abi_open(), ret = 0;
		__u32 n, spare, most;

		ASSERT_GE(fd, 0);
		ASSERT_EQ(0, abi_info(fd, CMX_INFO_LIMITS, 0, &limits, sizeof(limits)));
		most = number_at(&limits, l->limit);
		if (most > MOST) {
			printf("# max_%s is %u: not tried\n", l->name, most);
			close(fd);
			close(other);
			continue;
		}
		tried++;
		for (n = 0; n <= most; n++) {
			ret = l->create(fd, n, &handles[n]);
			if (ret)
				break;
		}
		EXPECT_EQ(-EMFILE, ret)
			TH_LOG("%s: %u made", l->name, n);
		EXPECT_TRUE(at_limit(fd, l, &limits))
			TH_LOG("%s", l->name);
		EXPECT_GE(most, client_count(fd, l));
		EXPECT_LE(n, client_count(fd, l));
		/* Refused again and again, nothing is used up by that. */
		EXPECT_EQ(-EMFILE, l->create(fd, n ? n : 1, &spare));
		EXPECT_EQ(0, l->destroy(fd, n - 1, handles[n - 1]));
		EXPECT_EQ(0, l->create(fd, n - 1, &handles[n - 1]));
		EXPECT_EQ(-EMFILE, l->create(fd, n ? n : 1, &spare));
		EXPECT_EQ(0, l->create(other, 0, &spare));
		close(fd);
		close(other);
	}
	if (!tried)
		SKIP(return, "limits above %u: load the module with smaller ones", MOST);
}

TEST_HARNESS_MAIN
