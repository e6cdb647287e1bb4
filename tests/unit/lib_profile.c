// SPDX-License-Identifier: GPL-2.0-only
/* Profiles as files: what is read, what is refused and how, what is written. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include <cmx/profile.h>

#include "cmx_fail.h"

#define GOOD	"libcmxdrv/profiles/cloudmatrix384-2node.json"

FIXTURE(profile)
{
	char path[64];
	char *good;
	struct cmx_profile *profile;
};

static char *read_text(const char *path)
{
	char *text = calloc(1, 1 << 16);
	FILE *file = fopen(path, "re");

	if (file && text && fread(text, 1, (1 << 16) - 1, file)) {
		fclose(file);
		return text;
	}
	abort();
}

FIXTURE_SETUP(profile)
{
	int fd;

	self->good = read_text(GOOD);
	self->profile = NULL;
	strcpy(self->path, "/tmp/cmx-profile.XXXXXX");
	fd = mkstemp(self->path);
	ASSERT_LE(0, fd);
	close(fd);
}

FIXTURE_TEARDOWN(profile)
{
	cmx_profile_free(self->profile);
	free(self->good);
	unlink(self->path);
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "we");

	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		abort();
}

/* The good profile with the first @old replaced by @new, read. */
static int read_with(const char *path, const char *good, const char *old, const char *new,
		     struct cmx_profile **profile)
{
	const char *at = strstr(good, old);
	size_t before = (size_t)(at - good);
	char *text;

	if (!at || asprintf(&text, "%.*s%s%s", (int)before, good, new, at + strlen(old)) < 0)
		abort();
	write_bytes(path, text, strlen(text));
	free(text);
	return cmx_profile_read(path, profile);
}

TEST_F(profile, those_of_the_tree)
{
	static const struct { const char *name; uint64_t nodes; } files[] = {
		{ "cloudmatrix384", 48 },
		{ "cloudmatrix384-1node", 1 },
		{ "cloudmatrix384-2node", 2 },
	};
	const struct cmx_profile_constant *constants;
	enum cmx_profile_kind kind;
	const char *source;
	char path[128];
	uint64_t value;
	size_t count;

	constants = cmx_profile_constants(&count);
	EXPECT_LT(40, count);
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "libcmxdrv/profiles/%s.json", files[i].name);
		ASSERT_EQ(0, cmx_profile_read(path, &self->profile))
			TH_LOG("%s", cmx_last_error()->text);
		EXPECT_STREQ(files[i].name, cmx_profile_name(self->profile));
		EXPECT_EQ(0, cmx_profile_value(self->profile, "nodes", &value));
		EXPECT_EQ(files[i].nodes, value);
		for (size_t j = 0; j < count; j++) {
			EXPECT_EQ(0, cmx_profile_source(self->profile, constants[j].name, &kind,
							&source));
			EXPECT_LT(3, strlen(source));
		}
		cmx_profile_free(self->profile);
		self->profile = NULL;
	}
}

#define HBM	"\"hbm_rate\": {\n      \"value\": 1600000000000,\n      \"unit\": \"B/s\",\n" \
		"      \"kind\": \"published\",\n      \"source\": "

TEST_F(profile, refused_with_the_reason)
{
	static const struct { const char *old, *new, *text; } files[] = {
		{ "\"value\": 1600000000000", "\"value\": 0",
		  "hbm_rate is 0 B/s, at least 1000000" },
		{ "\"value\": 1600000000000", "\"value\": -5",
		  "hbm_rate is -5 B/s, at least 1000000" },
		{ "\"value\": 1600000000000", "\"value\": 100000000000001",
		  "hbm_rate is 100000000000001 B/s, at most 100000000000000" },
		{ "\"value\": 1600000000000", "\"value\": 1.6e12", "only integers" },
		{ "\"value\": 1600000000000", "\"value\": 1600.5",
		  "hbm_rate: value is 1600.5, only integers are taken" },
		{ "\"value\": 1600000000000", "\"value\": 99999999999999999999",
		  "too big integer" },
		{ "\"value\": 1600000000000", "\"value\": \"1600\"", "hbm_rate: value is no" },
		{ "\"value\": 1600000000000", "\"value\": null", "hbm_rate: value is no integer" },
		{ "\"value\": 1600000000000", "\"value\": [1]", "hbm_rate: value is no integer" },
		{ "\"value\": 1600000000000,", "", "hbm_rate: value is missing" },
		{ HBM, "\"hbm_rate\": 5, \"x\": { \"source\": ", "x: there is no such constant" },
		{ "\"hbm_rate\"", "\"HBM_rate\"", "HBM_rate: there is no such constant" },
		{ "\"hbm_rate\"", "\"die_capacity\"", "duplicate object key" },
		{ "\"nodes\": {", "\"nodes\": {\"value\": 2, ", "duplicate object key" },
		{ "\"unit\": \"B/s\"", "\"unit\": \"GB/s\"",
		  "hbm_rate: unit is 'GB/s', must be 'B/s'" },
		{ "\"unit\": \"B/s\",", "", "hbm_rate: unit is '', must be 'B/s'" },
		{ "\"kind\": \"fitted\"", "\"kind\": \"guessed\"",
		  "wire_permille: kind is 'guessed', must be published, fitted or assumed" },
		{ "\"kind\": \"fitted\",", "", "wire_permille: kind is missing" },
		{ "\"kind\": \"fitted\"", "\"kind\": 1", "wire_permille: kind is no text" },
		{ "\"kind\": \"fitted\"", "\"note\": \"\", \"kind\": \"fitted\"",
		  "wire_permille has a member 'note' that it must not" },
		{ "\"source\": \"a cut of", "\"source\": \"\", \"x\": \"a cut of",
		  "nodes has a member 'x'" },
		{ "\"name\": \"cloudmatrix384-2node\"", "\"name\": \"\"", "name is empty" },
		{ "\"name\": \"cloudmatrix384-2node\"", "\"name\": \"a b\"",
		  "name: only letters" },
		{ "\"name\": \"cloudmatrix384-2node\"", "\"name\": \"../etc\"",
		  "name: only letters" },
		{ "\"name\": \"cloudmatrix384-2node\"",
		  "\"name\": \"a23456789b23456789c23456789d2345\"",
		  "name has 32 characters, from 1 to 31" },
		{ "\"name\": \"cloudmatrix384-2node\",", "", "name is missing" },
		{ "\"name\":", "\"title\": \"\", \"name\":", "the profile has a member 'title'" },
		{ "\"description\":", "\"descriptions\":", "has a member 'descriptions'" },
		{ "\"constants\": {", "\"constants\": [], \"x\": {", "has a member 'x'" },
		{ "{", "[{", "line" },
		{ "{", "", "line" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		EXPECT_EQ(-EINVAL, read_with(self->path, self->good, files[i].old, files[i].new,
					     &self->profile));
		EXPECT_NE(NULL, strstr(cmx_last_error()->text, files[i].text))
			TH_LOG("%zu: '%s'", i, cmx_last_error()->text);
		EXPECT_EQ(0, strncmp(cmx_last_error()->text, self->path, strlen(self->path)));
	}
}

/* Write @json and read it as a profile; it must be refused with the name and @words. */
static int refused(const char *path, json_t *json, const char *name, const char *words,
		   struct cmx_profile **profile)
{
	char text[128];

	snprintf(text, sizeof(text), "%s: %s%s", path, name, words);
	if (json_dump_file(json, path, 0))
		abort();
	return cmx_profile_read(path, profile) == -EINVAL &&
	       !strcmp(cmx_last_error()->text, text);
}

TEST_F(profile, every_constant_is_needed_with_its_source)
{
	const struct cmx_profile_constant *constants;
	json_t *json, *all, *one;
	size_t count;

	constants = cmx_profile_constants(&count);
	json = json_loads(self->good, 0, NULL);
	ASSERT_NE(NULL, json);
	all = json_object_get(json, "constants");
	EXPECT_EQ(count, json_object_size(all));
	for (size_t i = 0; i < count; i++) {
		const char *name = constants[i].name;

		one = json_deep_copy(json_object_get(all, name));
		ASSERT_NE(NULL, one);
		json_object_del(all, name);
		EXPECT_TRUE(refused(self->path, json, name, " is missing", &self->profile))
			TH_LOG("%s", cmx_last_error()->text);
		EXPECT_STREQ(name, cmx_last_error()->field);
		json_object_set_new(all, name, one);
		json_object_set_new(one, "source", json_string(""));
		EXPECT_TRUE(refused(self->path, json, name, ": source is empty", &self->profile));
		json_object_del(one, "source");
		EXPECT_TRUE(refused(self->path, json, name, ": source is missing",
				    &self->profile));
		json_object_set_new(one, "source", json_string("this test"));
	}
	json_decref(json);
}

TEST_F(profile, limits_themselves_are_taken)
{
	const struct cmx_profile_constant *constants;
	json_t *json, *one;
	uint64_t value;
	size_t count;

	constants = cmx_profile_constants(&count);
	json = json_loads(self->good, 0, NULL);
	for (size_t i = 0; i < 2 * count; i++) {
		const struct cmx_profile_constant *c = &constants[i / 2];

		one = json_object_get(json_object_get(json, "constants"), c->name);
		value = i % 2 ? c->max : c->min;
		json_object_set_new(one, "value", json_integer((json_int_t)value));
		ASSERT_EQ(0, json_dump_file(json, self->path, 0));
		ASSERT_EQ(0, cmx_profile_read(self->path, &self->profile))
			TH_LOG("%s", cmx_last_error()->text);
		EXPECT_EQ(0, cmx_profile_value(self->profile, c->name, &value));
		EXPECT_EQ(i % 2 ? c->max : c->min, value);
		cmx_profile_free(self->profile);
		self->profile = NULL;
	}
	json_decref(json);
}

TEST_F(profile, files_that_are_no_profiles)
{
	static const char deep[] = "[[[[[[[[";
	char *large;

	EXPECT_EQ(-ENOENT, cmx_profile_read("/nowhere/at/all", &self->profile));
	EXPECT_NE(NULL, strstr(cmx_last_error()->text, "/nowhere/at/all"));
	EXPECT_EQ(-EISDIR, cmx_profile_read("/tmp", &self->profile));
	EXPECT_EQ(-EINVAL, cmx_profile_read("/dev/null", &self->profile));
	EXPECT_EQ(-EFBIG, cmx_profile_read("/dev/zero", &self->profile));
	EXPECT_EQ(1 << 20, cmx_last_error()->limit);
	write_bytes(self->path, "{\"name\": \"\0\"}", 13);
	EXPECT_EQ(-EINVAL, cmx_profile_read(self->path, &self->profile));
	write_bytes(self->path, "\xff\xfe{}", 4);
	EXPECT_EQ(-EINVAL, cmx_profile_read(self->path, &self->profile));
	write_bytes(self->path, "[1, 2]", 6);
	EXPECT_EQ(-EINVAL, cmx_profile_read(self->path, &self->profile));
	EXPECT_NE(NULL, strstr(cmx_last_error()->text, "a profile is an object"));
	large = malloc(1 << 19);
	ASSERT_NE(NULL, large);
	for (size_t i = 0; i < 1 << 19; i++)
		large[i] = deep[i % 8];
	write_bytes(self->path, large, 1 << 19);
	EXPECT_EQ(-EINVAL, cmx_profile_read(self->path, &self->profile));
	free(large);
}

/* Random bytes changed in a good file: read or refused, never anything else. */
TEST_F(profile, damaged_files)
{
	size_t size = strlen(self->good);
	uint32_t state = 99;
	int refused = 0;

	for (int i = 0; i < 2000; i++) {
		char *text = strdup(self->good);
		int ret;

		for (int n = 0; n < 1 + i % 3; n++) {
			state = state * 1664525 + 1013904223;
			text[(state >> 8) % size] = (char)(state >> 3);
		}
		write_bytes(self->path, text, i % 5 ? size : state % size);
		free(text);
		ret = cmx_profile_read(self->path, &self->profile);
		EXPECT_TRUE(!ret || ret == -EINVAL);
		refused += !!ret;
		cmx_profile_free(self->profile);
		self->profile = NULL;
	}
	EXPECT_LT(1000, refused);
}

TEST_F(profile, written_is_what_was_read)
{
	char *again;

	ASSERT_EQ(0, cmx_profile_read(GOOD, &self->profile));
	ASSERT_EQ(0, cmx_profile_write(self->profile, self->path));
	again = read_text(self->path);
	EXPECT_STREQ(self->good, again);
	free(again);
	EXPECT_EQ(-ENOENT, cmx_profile_write(self->profile, "/nowhere/at/all"));
	EXPECT_EQ(-ENOSPC, cmx_profile_write(self->profile, "/dev/full"));
}

TEST_F(profile, changes_in_memory)
{
	enum cmx_profile_kind kind;
	const char *source;
	uint64_t value;

	ASSERT_EQ(0, cmx_profile_read(GOOD, &self->profile));
	EXPECT_EQ(-ENOENT, cmx_profile_set(self->profile, "speed", 1, NULL));
	EXPECT_EQ(-ENOENT, cmx_profile_value(self->profile, "speed", &value));
	EXPECT_EQ(-ERANGE, cmx_profile_set(self->profile, "far_permille", 1001, NULL));
	EXPECT_STREQ("far_permille", cmx_last_error()->field);
	EXPECT_EQ(1001, cmx_last_error()->value);
	EXPECT_EQ(1000, cmx_last_error()->limit);
	EXPECT_EQ(0, cmx_profile_set(self->profile, "far_permille", 900, NULL));
	EXPECT_EQ(0, cmx_profile_source(self->profile, "far_permille", &kind, &source));
	EXPECT_EQ(CMX_PROFILE_FITTED, (int)kind);
	EXPECT_EQ(0, cmx_profile_set(self->profile, "far_permille", 901, "a guess"));
	EXPECT_EQ(0, cmx_profile_source(self->profile, "far_permille", &kind, &source));
	EXPECT_EQ(CMX_PROFILE_ASSUMED, (int)kind);
	EXPECT_STREQ("a guess", source);
	EXPECT_EQ(0, cmx_profile_value(self->profile, "far_permille", &value));
	EXPECT_EQ(901, value);
	EXPECT_EQ(-EINVAL, cmx_profile_rename(self->profile, "no/slash"));
	EXPECT_EQ(0, cmx_profile_rename(self->profile, "mine"));
	EXPECT_STREQ("mine", cmx_profile_name(self->profile));
}

TEST_HARNESS_MAIN
