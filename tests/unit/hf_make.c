// SPDX-License-Identifier: GPL-2.0-only
#include "hf_make.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hf_make_dir(struct hf_make *m)
{
	snprintf(m->path, sizeof(m->path), "/tmp/hf_make.XXXXXX");
	if (!mkdtemp(m->path))
		abort();
}

void hf_make_remove(struct hf_make *m)
{
	DIR *d = m->path[0] ? opendir(m->path) : NULL;
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
	if (m->path[0])
		rmdir(m->path);
	m->path[0] = 0;
}

void hf_make_file(const struct hf_make *m, const char *name, const void *data, size_t len)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", m->path, name);
	f = fopen(path, "we");
	if (!f || fwrite(data, 1, len, f) != len || fclose(f))
		abort();
}

void hf_make_text(const struct hf_make *m, const char *name, const char *text)
{
	hf_make_file(m, name, text, strlen(text));
}

size_t hf_make_tensors(const char *header, size_t data, unsigned char *out, size_t max)
{
	uint64_t n = strlen(header);

	if (8 + n + data > max)
		abort();
	for (int i = 0; i < 8; i++)
		out[i] = (unsigned char)(n >> 8 * i);
	memcpy(out + 8, header, n);
	for (size_t i = 0; i < data; i++)
		out[8 + n + i] = (unsigned char)(i % 251);
	return 8 + n + data;
}
