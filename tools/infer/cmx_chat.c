// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_chat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define USER		"<\uff5cUser\uff5c>"
#define ASSISTANT	"<\uff5cAssistant\uff5c>"
#define THINK		"<think>"
#define THOUGHT		"</think>"

static const char *const form_names[] = {
	[CMX_CHAT_AUTO] = "auto", [CMX_CHAT_V2] = "v2", [CMX_CHAT_V3] = "v3",
	[CMX_CHAT_R1] = "r1", [CMX_CHAT_V31] = "v3.1", [CMX_CHAT_V31_THINK] = "v3.1-think",
};

const char *cmx_chat_form_name(enum cmx_chat_form form)
{
	return form_names[form];
}

int cmx_chat_form(const char *name, enum cmx_chat_form *form, struct cmx_infer_err *err)
{
	for (size_t i = 0; i < sizeof(form_names) / sizeof(form_names[0]); i++) {
		if (!strcmp(name, form_names[i])) {
			*form = (enum cmx_chat_form)i;
			return 0;
		}
	}
	return cmx_infer_fail(err, -EINVAL,
			      "chat form is '%.32s', must be auto, v2, v3, r1, v3.1 or v3.1-think",
			      name);
}

int cmx_chat_detect(const struct cmx_tokenizer *t, enum cmx_chat_form *form,
		    struct cmx_infer_err *err)
{
	const char *template = t->chat_template ? t->chat_template : "";

	if (cmx_vocabulary_find_literal(&t->vocab, ASSISTANT, strlen(ASSISTANT)) !=
	    CMX_NO_TOKEN) {
		/* In a template a line end may be written as two characters. */
		if (strstr(template, ASSISTANT THINK "\\n") ||
		    strstr(template, ASSISTANT THINK "\n"))
			*form = CMX_CHAT_R1;
		else if (strstr(template, "{{'" THOUGHT "'}}"))
			*form = CMX_CHAT_V31;
		else
			*form = CMX_CHAT_V3;
		return 0;
	}
	if (strstr(template, "User: ") && strstr(template, "Assistant:")) {
		*form = CMX_CHAT_V2;
		return 0;
	}
	return cmx_infer_fail(err, -ENOTSUP,
			      "the model has neither an assistant token nor a chat template: name a chat form");
}

/* Text waits until a marker, so that it is cut into words as a whole. */
struct chat {
	const struct cmx_tokenizer *t;
	enum cmx_chat_form form;
	struct cmx_ids ids;
	char *text;
	size_t len, cap;
	struct cmx_infer_err *err;
};

static int flush(struct chat *c)
{
	int ret = cmx_tokenizer_append(c->t, c->text ? c->text : "", c->len, false, &c->ids,
				       c->err);

	c->len = 0;
	return ret;
}

static int add_text(struct chat *c, const char *s)
{
	size_t n = strlen(s), cap = c->cap ? c->cap : 256;

	while (cap < c->len + n)
		cap *= 2;
	if (cap > c->cap) {
		char *text = realloc(c->text, cap);

		if (!text)
			return cmx_infer_fail(c->err, -ENOMEM, "no memory for the conversation");
		c->text = text;
		c->cap = cap;
	}
	memcpy(c->text + c->len, s, n);
	c->len += n;
	return 0;
}

static int add_id(struct chat *c, uint32_t id)
{
	int ret = flush(c);

	return ret ? ret : cmx_ids_push(&c->ids, id, c->err);
}

static int add_marker(struct chat *c, const char *marker)
{
	uint32_t id = cmx_vocabulary_find_literal(&c->t->vocab, marker, strlen(marker));

	if (id == CMX_NO_TOKEN)
		return cmx_infer_fail(c->err, -ENOTSUP,
				      "chat form %s needs the token '%s', which the vocabulary lacks",
				      form_names[c->form], marker);
	return add_id(c, id);
}

/* A token where there is one; a vocabulary without it spells it out. */
static int add_think(struct chat *c, const char *marker)
{
	uint32_t id = cmx_vocabulary_find_literal(&c->t->vocab, marker, strlen(marker));

	return id == CMX_NO_TOKEN ? add_text(c, marker) : add_id(c, id);
}

/* The answer itself, without the thoughts that led to it. */
static const char *answer(const struct chat *c, const char *text)
{
	const char *at;

	if (c->form == CMX_CHAT_V2 || c->form == CMX_CHAT_V3)
		return text;
	while ((at = strstr(text, THOUGHT)))
		text = at + strlen(THOUGHT);
	return text;
}

static int add_end(struct chat *c)
{
	if (!c->t->n_ends)
		return cmx_infer_fail(c->err, -ENOTSUP,
				      "an earlier answer needs an end token, which the model lacks");
	return add_id(c, c->t->end[0]);
}

static int add_assistant(struct chat *c)
{
	if (c->form == CMX_CHAT_V2)
		return add_text(c, "Assistant:");
	return add_marker(c, ASSISTANT);
}

static int add_message(struct chat *c, const struct cmx_chat_message *m)
{
	bool v2 = c->form == CMX_CHAT_V2;
	int ret;

	if (m->role == CMX_CHAT_USER) {
		ret = v2 ? add_text(c, "User: ") : add_marker(c, USER);
		if (!ret)
			ret = add_text(c, m->text);
		return ret || !v2 ? ret : add_text(c, "\n\n");
	}
	ret = add_assistant(c);
	if (!ret && v2)
		ret = add_text(c, " ");
	if (!ret && (c->form == CMX_CHAT_V31 || c->form == CMX_CHAT_V31_THINK))
		ret = add_think(c, THOUGHT);
	if (!ret)
		ret = add_text(c, answer(c, m->text));
	return ret ? ret : add_end(c);
}

static int add_systems(struct chat *c, const struct cmx_chat_message *msg, uint32_t n)
{
	bool first = true;
	int ret = 0;

	for (uint32_t i = 0; i < n && !ret; i++) {
		if (msg[i].role != CMX_CHAT_SYSTEM)
			continue;
		if (!first)
			ret = add_text(c, "\n\n");
		first = false;
		if (!ret)
			ret = add_text(c, msg[i].text);
	}
	return ret || first || c->form != CMX_CHAT_V2 ? ret : add_text(c, "\n\n");
}

static int add_opening(struct chat *c)
{
	int ret = add_assistant(c);

	if (ret)
		return ret;
	switch (c->form) {
	case CMX_CHAT_R1:
		ret = add_think(c, THINK);
		return ret ? ret : add_text(c, "\n");
	case CMX_CHAT_V31:
		return add_think(c, THOUGHT);
	case CMX_CHAT_V31_THINK:
		return add_think(c, THINK);
	default:
		return 0;
	}
}

static int add_all(struct chat *c, const struct cmx_chat_message *msg, uint32_t n)
{
	int ret = c->t->bos == CMX_NO_TOKEN ? 0 : add_id(c, c->t->bos);

	if (!ret)
		ret = add_systems(c, msg, n);
	for (uint32_t i = 0; i < n && !ret; i++) {
		if (msg[i].role != CMX_CHAT_SYSTEM)
			ret = add_message(c, &msg[i]);
	}
	if (!ret)
		ret = add_opening(c);
	return ret ? ret : flush(c);
}

int cmx_chat_encode(const struct cmx_tokenizer *t, enum cmx_chat_form form,
		    const struct cmx_chat_message *msg, uint32_t n_msgs, uint32_t **ids,
		    uint32_t *n, struct cmx_infer_err *err)
{
	struct chat c = { .t = t, .form = form, .err = err };
	int ret = form == CMX_CHAT_AUTO ? cmx_chat_detect(t, &c.form, err) : 0;

	if (!ret)
		ret = add_all(&c, msg, n_msgs);
	free(c.text);
	if (ret) {
		cmx_ids_free(&c.ids);
		return ret;
	}
	*ids = c.ids.id;
	*n = c.ids.n;
	return 0;
}
