// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_upload.h"

#define UPLOAD_WINDOW	(8ull << 20)
#define UPLOAD_ALIGN	64u

int cmx_upload_init(struct cmx_upload *u, struct cmx_die *die, struct cmx_infer_err *err)
{
	void *va;
	int ret = cmx_die_alloc(die, CMX_PLACE_HOST, UPLOAD_WINDOW, "upload window", &va, err);

	*u = (struct cmx_upload){ .die = die, .window = ret ? NULL : va };
	return ret;
}

int cmx_upload_tensor(struct cmx_upload *u, const struct cmx_gguf *g,
		      const struct cmx_gguf_tensor *t, char *dst, struct cmx_infer_err *err)
{
	uint64_t at = 0;
	int ret = 0;

	while (at < t->size && !ret) {
		uint64_t len = t->size - at, room = UPLOAD_WINDOW - u->used;
		char *src = u->window + u->used;

		if (len > room)
			len = room;
		if (!cmx_die_time_only(u->die))
			ret = cmx_gguf_read(g, t, at, len, src, err);
		if (!ret)
			ret = cmx_die_copy(u->die, dst + at, src, len, "upload", err);
		at += len;
		u->used += (len + UPLOAD_ALIGN - 1) / UPLOAD_ALIGN * UPLOAD_ALIGN;
		if (ret || u->used < UPLOAD_WINDOW)
			continue;
		/* The window is full of bytes on their way: they must leave it first. */
		ret = cmx_die_finish(u->die, err);
		u->used = 0;
	}
	return ret;
}
