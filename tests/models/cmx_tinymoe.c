// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_tinymoe.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_SEED 1234u

static int usage(void)
{
	fputs("usage: cmx_tinymoe [--type TYPE] [--legacy | --sparse] [--seed N] PRESET FILE\n"
	      "       cmx_tinymoe --hf [--type TYPE] [--shards N] [--seed N] PRESET FOLDER\n"
	      "presets: v3tiny v3tiny-mtp v3tiny-mtp-ends v3tiny-noyarn v2tiny v2litetiny v3mid v3 v3-layer\n"
	      "types: f32 f16 bf16 q8_0 q4_0 q4_k q6_k; with --hf f32 f16 bf16 fp8\n", stderr);
	return 2;
}

static int find_type(const char *name, bool hf, enum tinymoe_type *type)
{
	static const enum tinymoe_type types[] = {
		TINYMOE_F32, TINYMOE_F16, TINYMOE_BF16, TINYMOE_Q8_0, TINYMOE_Q4_0, TINYMOE_Q4_K,
		TINYMOE_Q6_K, TINYMOE_FP8,
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		bool fits = hf ? i < 3 || types[i] == TINYMOE_FP8 : types[i] != TINYMOE_FP8;

		if (fits && !strcmp(tinymoe_type_name(types[i]), name)) {
			*type = types[i];
			return 0;
		}
	}
	return -EINVAL;
}

/* The name appears only when the file is complete. */
static int write_file(const struct tinymoe_preset *p, enum tinymoe_type type, bool legacy,
		      bool sparse, uint64_t seed, const char *path)
{
	char temp[4096];
	FILE *f;
	int ret;

	if (snprintf(temp, sizeof(temp), "%s.%d", path, (int)getpid()) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	f = fopen(temp, "we");
	if (!f)
		return -errno;
	ret = sparse ? tinymoe_write_sparse(p, type, f) : tinymoe_write(p, type, legacy, seed, f);
	if (fclose(f) && !ret)
		ret = -errno;
	if (!ret && rename(temp, path))
		ret = -errno;
	if (ret)
		unlink(temp);
	return ret;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "type", required_argument, NULL, 't' },
		{ "legacy", no_argument, NULL, 'l' },
		{ "sparse", no_argument, NULL, '0' },
		{ "hf", no_argument, NULL, 'h' },
		{ "shards", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ 0 },
	};
	enum tinymoe_type type = TINYMOE_F32;
	const char *type_name = "f32";
	const struct tinymoe_preset *p;
	uint64_t seed = DEFAULT_SEED;
	bool legacy = false, hf = false, sparse = false;
	uint32_t shards = 1;
	int opt, ret;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'l')
			legacy = true;
		else if (opt == '0')
			sparse = true;
		else if (opt == 'h')
			hf = true;
		else if (opt == 't')
			type_name = optarg;
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (opt == 'n')
			shards = (uint32_t)strtoul(optarg, NULL, 0);
		else
			return usage();
	}
	if (argc - optind != 2 || find_type(type_name, hf, &type) || !shards || (legacy && hf))
		return usage();
	p = tinymoe_find(argv[optind]);
	if (!p)
		return usage();
	ret = hf ? tinymoe_write_hf(p, type, shards, seed, argv[optind + 1]) :
		   write_file(p, type, legacy, sparse, seed, argv[optind + 1]);
	if (ret)
		fprintf(stderr, "cmx_tinymoe: %s: %s\n", argv[optind + 1], strerror(-ret));
	return ret ? 1 : 0;
}
