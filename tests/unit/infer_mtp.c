// SPDX-License-Identifier: GPL-2.0-only
/* The block that predicts a second token, and files that lack parts of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "cmx_model.h"
#include "cmx_tinymoe.h"
#include "hf_make.h"
#include "host_die.h"

#define SEED	1234u

static struct cmx_infer_err err;

/* A model of some form. */
struct engine {
	struct cmx_source *src;
	struct cmx_die *die;
	struct cmx_model model;
	struct hf_make dir;
};

struct form {
	const char *preset;
	enum tinymoe_type type;
	bool legacy;
	bool hf;
};

static int write_memory(const struct form *form, int *fd)
{
	FILE *f;
	int ret;

	*fd = memfd_create("model", MFD_CLOEXEC);
	f = fdopen(dup(*fd), "w");
	ret = f ? tinymoe_write(tinymoe_find(form->preset), form->type, form->legacy, SEED, f) : -1;
	if (f && fclose(f))
		ret = -1;
	return ret;
}

static int open_source(struct engine *e, const struct form *form)
{
	int fd, ret;

	if (form->hf) {
		hf_make_dir(&e->dir);
		ret = tinymoe_write_hf(tinymoe_find(form->preset), form->type, 2, SEED,
				       e->dir.path);
		return ret ? ret : cmx_source_open(e->dir.path, &e->src, &err);
	}
	ret = write_memory(form, &fd);
	if (!ret)
		ret = cmx_source_open_fd(fd, &e->src, &err);
	close(fd);
	return ret;
}

static int load_model(struct engine *e, bool mtp, uint64_t run_bytes)
{
	const struct cmx_load_options load = { .mtp = mtp, .run_bytes = run_bytes };
	struct cmx_die_options die = { .isa = CMX_ISA_COUNT - 1, .threads = 1 };
	int ret;

	while (!cmx_npu_kernels(die.isa))
		die.isa--;
	ret = cmx_die_open(&die, &e->die, &err);
	return ret ? ret : cmx_model_load(e->src, e->die, &load, &e->model, &err);
}

static void engine_close(struct engine *e)
{
	cmx_model_free(&e->model);
	cmx_die_close(e->die);
	cmx_source_close(e->src);
	if (e->dir.path[0])
		hf_make_remove(&e->dir);
}

static uint64_t bytes_of(const struct form *form, bool mtp)
{
	struct engine e = { 0 };
	uint64_t bytes = 0;

	if (!open_source(&e, form) && !load_model(&e, mtp, 0))
		bytes = e.model.weight_bytes;
	engine_close(&e);
	return bytes;
}

/* A block that is not wanted takes no memory, one that is wanted is counted. */
TEST(memory_of_the_block)
{
	const struct form plain = { "v3tiny", TINYMOE_F32, false, false };
	const struct form shared = { "v3tiny-mtp", TINYMOE_F32, false, false };
	const struct form own = { "v3tiny-mtp-ends", TINYMOE_F32, false, false };
	uint64_t without = bytes_of(&plain, false), with = bytes_of(&shared, true);
	struct engine e = { 0 };

	ASSERT_NE(0, without);
	EXPECT_EQ(without, bytes_of(&shared, false));
	EXPECT_EQ(without, bytes_of(&own, false));
	EXPECT_LT(without + 4 * (2 * 256 * 256 + 3 * 256), with);
	EXPECT_EQ(with + 2 * 4 * 512 * 256, bytes_of(&own, true));
	host_die_room = with + 4;
	ASSERT_EQ(0, open_source(&e, &shared));
	EXPECT_EQ(-ENOSPC, load_model(&e, true, 5));
	EXPECT_NE(NULL, strstr(err.text, "for weights and 5 for cache"));
	engine_close(&e);
	e = (struct engine){ 0 };
	ASSERT_EQ(0, open_source(&e, &shared));
	EXPECT_EQ(0, load_model(&e, false, 5));
	host_die_room = 1ull << 40;
	engine_close(&e);
}

TEST(no_block_to_load)
{
	const struct form form = { "v3tiny", TINYMOE_F32, false, false };
	struct engine e = { 0 };

	ASSERT_EQ(0, open_source(&e, &form));
	EXPECT_EQ(-EINVAL, load_model(&e, true, 0));
	EXPECT_NE(NULL, strstr(err.text, "no MTP block"));
	engine_close(&e);
}

/* Loads a GGUF file in which the first @from is @to; they have one length. */
static int load_patched(const char *from, const char *to, bool mtp)
{
	const struct form form = { "v3tiny-mtp-ends", TINYMOE_F32, false, false };
	char head[32768], *at;
	struct engine e = { 0 };
	int fd, ret;

	if (write_memory(&form, &fd) || pread(fd, head, sizeof(head), 0) != sizeof(head))
		abort();
	at = memmem(head, sizeof(head), from, strlen(from));
	if (!at || pwrite(fd, to, strlen(to), at - head) != (ssize_t)strlen(to))
		abort();
	err.text[0] = 0;
	ret = cmx_source_open_fd(fd, &e.src, &err);
	if (!ret)
		ret = load_model(&e, mtp, 0);
	engine_close(&e);
	close(fd);
	return ret;
}

/* Whether the block is wanted or not: a damaged file is refused. */
TEST(tensors_that_are_missing)
{
	static const char * const names[] = {
		"blk.4.nextn.eh_proj.weight", "blk.4.nextn.enorm.weight",
		"blk.4.nextn.hnorm.weight", "blk.4.nextn.shared_head_norm.weight",
		"blk.4.attn_kv_a_mqa.weight", "blk.4.ffn_up_exps.weight", "blk.4.exp_probs_b.bias",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (int mtp = 0; mtp < 2; mtp++) {
			char other[64];

			snprintf(other, sizeof(other), "%s", names[i]);
			other[6] = 'X';
			EXPECT_GT(0, load_patched(names[i], other, mtp));
			EXPECT_NE(NULL, strstr(err.text, names[i])) TH_LOG("%s", err.text);
		}
	}
}

/* Sets dimension @d of a tensor's entry in the file to @to, and tries to load it. */
static int load_with_dim(const char *name, int d, uint64_t to)
{
	const struct form form = { "v3tiny-mtp-ends", TINYMOE_F32, false, false };
	char head[32768], *at;
	struct engine e = { 0 };
	int fd, ret;

	if (write_memory(&form, &fd) || pread(fd, head, sizeof(head), 0) != sizeof(head))
		abort();
	at = memmem(head, sizeof(head), name, strlen(name));
	if (!at || pwrite(fd, &to, 8, at - head + (off_t)strlen(name) + 4 + 8 * d) != 8)
		abort();
	err.text[0] = 0;
	ret = cmx_source_open_fd(fd, &e.src, &err);
	if (!ret)
		ret = load_model(&e, true, 0);
	engine_close(&e);
	close(fd);
	return ret;
}

TEST(shapes_that_do_not_fit)
{
	static const struct {
		const char *name;
		int dim;
		uint64_t to;
	} cases[] = {
		{ "blk.4.nextn.eh_proj.weight", 0, 256 },
		{ "blk.4.nextn.eh_proj.weight", 1, UINT64_MAX },
		{ "blk.4.nextn.enorm.weight", 0, 255 },
		{ "blk.4.nextn.hnorm.weight", 0, 0 },
		{ "blk.4.nextn.shared_head_norm.weight", 0, 512 },
		{ "blk.4.nextn.embed_tokens.weight", 1, 511 },
		{ "blk.4.nextn.shared_head_head.weight", 0, 1ull << 61 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EXPECT_GT(0, load_with_dim(cases[i].name, cases[i].dim, cases[i].to));
		/* Where the size is wrong too, the next tensor is out of place. */
		EXPECT_NE(NULL, strstr(err.text, "'blk.4.nextn.")) TH_LOG("%s", err.text);
	}
}

/* Loads a folder in whose header the first @from behind @name is @to; they have one length. */
static int load_folder_with(const char *name, const char *from, const char *to)
{
	struct engine e = { 0 };
	char path[128], head[32768], *at;
	int ret;
	FILE *f;

	hf_make_dir(&e.dir);
	ret = tinymoe_write_hf(tinymoe_find("v3tiny-mtp-ends"), TINYMOE_BF16, 1, SEED, e.dir.path);
	snprintf(path, sizeof(path), "%s/model.safetensors", e.dir.path);
	f = fopen(path, "r+e");
	if (ret || !f || fread(head, 1, sizeof(head), f) != sizeof(head))
		abort();
	at = memmem(head, sizeof(head), name, strlen(name));
	at = at ? memmem(at, 256, from, strlen(from)) : NULL;
	if (!at || fseek(f, at - head, SEEK_SET) || fwrite(to, strlen(to), 1, f) != 1 || fclose(f))
		abort();
	err.text[0] = 0;
	ret = cmx_source_open(e.dir.path, &e.src, &err);
	if (!ret)
		ret = load_model(&e, true, 0);
	engine_close(&e);
	return ret;
}

TEST(tensors_of_a_folder_that_do_not_fit)
{
	static const struct {
		const char *name, *from, *to;
	} cases[] = {
		{ "model.layers.4.eh_proj.weight", "[256,512]", "[512,256]" },
		{ "model.layers.4.embed_tokens.weight", "[512,256]", "[256,512]" },
		{ "model.layers.4.shared_head.head.weight", "[512,256]", "[256,512]" },
		{ "model.layers.4.hnorm.weight", "hnorm", "hNorm" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EXPECT_GT(0, load_folder_with(cases[i].name, cases[i].from, cases[i].to));
		EXPECT_NE(NULL, strstr(err.text, cases[i].name)) TH_LOG("%s", err.text);
	}
}

TEST_HARNESS_MAIN
