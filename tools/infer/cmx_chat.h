/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Conversations as DeepSeek's models were trained on them. Markers are put in
 * as ids; what people wrote is never searched for control tokens.
 *
 *	v2		[BOS] SYSTEM\n\n User: TEXT\n\n Assistant: TEXT[EOS] ... Assistant:
 *	v3		[BOS] SYSTEM [User] TEXT [Assistant] TEXT [EOS] ... [Assistant]
 *	r1		v3, with <think>\n at the end
 *	v3.1		v3, with </think> after each [Assistant]
 *	v3.1-think	v3.1, with <think> at the end instead
 *
 * Of an earlier answer what stands before its last </think> is left out, but
 * for v2 and v3. Several system texts are joined by an empty line.
 */
#ifndef CMX_CHAT_H
#define CMX_CHAT_H

#include "cmx_tokenizer.h"

enum cmx_chat_form {
	CMX_CHAT_AUTO,		/* by the model's chat template and vocabulary */
	CMX_CHAT_V2,
	CMX_CHAT_V3,
	CMX_CHAT_R1,
	CMX_CHAT_V31,
	CMX_CHAT_V31_THINK,
};

enum cmx_chat_role {
	CMX_CHAT_SYSTEM,
	CMX_CHAT_USER,
	CMX_CHAT_ASSISTANT,
};

struct cmx_chat_message {
	enum cmx_chat_role role;
	const char *text;
};

/* -EINVAL for a name that is no form. */
int cmx_chat_form(const char *name, enum cmx_chat_form *form, struct cmx_infer_err *err);
const char *cmx_chat_form_name(enum cmx_chat_form form);
/* What CMX_CHAT_AUTO stands for; -ENOTSUP if nothing tells. */
int cmx_chat_detect(const struct cmx_tokenizer *t, enum cmx_chat_form *form,
		    struct cmx_infer_err *err);
/* Ids of a conversation up to where the answer begins; free(*ids). */
int cmx_chat_encode(const struct cmx_tokenizer *t, enum cmx_chat_form form,
		    const struct cmx_chat_message *msg, uint32_t n_msgs, uint32_t **ids,
		    uint32_t *n, struct cmx_infer_err *err);

#endif
