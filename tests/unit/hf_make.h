/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes model folders and safetensors files, good and bad ones. */
#ifndef HF_MAKE_H
#define HF_MAKE_H

#include <stddef.h>

/* A folder that will go away again with all files in it. */
struct hf_make {
	char path[64];
};

void hf_make_dir(struct hf_make *m);
void hf_make_remove(struct hf_make *m);
void hf_make_file(const struct hf_make *m, const char *name, const void *data, size_t len);
void hf_make_text(const struct hf_make *m, const char *name, const char *text);
/* A safetensors file: the length of @header, @header, and @data bytes of i % 251. */
size_t hf_make_tensors(const char *header, size_t data, unsigned char *out, size_t max);

#endif
