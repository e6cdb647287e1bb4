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
	fputs("usage: cmx_tinymoe [--type f32|f16|bf16|q8_0] [--legacy] [--seed N] PRESET FILE\n"
	      "presets: v3tiny v3tiny-mtp v3tiny-noyarn v2tiny v2litetiny v3mid\n", stderr);
	return 2;
}

static int find_type(const char *name, enum tinymoe_type *type)
{
	static const struct {
		const char *name;
		enum tinymoe_type type;
	} types[] = {
		{ "f32", TINYMOE_F32 }, { "f16", TINYMOE_F16 }, { "bf16", TINYMOE_BF16 },
		{ "q8_0", TINYMOE_Q8_0 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!strcmp(types[i].name, name)) {
			*type = types[i].type;
			return 0;
		}
	}
	return -EINVAL;
}

/* The name appears only when the file is complete. */
static int write_file(const struct tinymoe_preset *p, enum tinymoe_type type, bool legacy,
		      uint64_t seed, const char *path)
{
	char temp[4096];
	FILE *f;
	int ret;

	if (snprintf(temp, sizeof(temp), "%s.%d", path, (int)getpid()) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	f = fopen(temp, "we");
	if (!f)
		return -errno;
	ret = tinymoe_write(p, type, legacy, seed, f);
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
		{ "seed", required_argument, NULL, 's' },
		{ 0 },
	};
	enum tinymoe_type type = TINYMOE_F32;
	const struct tinymoe_preset *p;
	uint64_t seed = DEFAULT_SEED;
	bool legacy = false;
	int opt, ret;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'l')
			legacy = true;
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (opt != 't' || find_type(optarg, &type))
			return usage();
	}
	if (argc - optind != 2)
		return usage();
	p = tinymoe_find(argv[optind]);
	if (!p)
		return usage();
	ret = write_file(p, type, legacy, seed, argv[optind + 1]);
	if (ret)
		fprintf(stderr, "cmx_tinymoe: %s: %s\n", argv[optind + 1], strerror(-ret));
	return ret ? 1 : 0;
}
