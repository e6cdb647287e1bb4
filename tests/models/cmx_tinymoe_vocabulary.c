// SPDX-License-Identifier: GPL-2.0-only
/* Tokens and merges of the test models, and a tokenizer.json of them. */
#include "cmx_tinymoe.h"

#include <string.h>

#include "cmx_tinymoe_merges.h"

#define N_SPECIAL	3u
#define N_BYTES		256u
#define N_MERGES	(sizeof(tinymoe_merges) / sizeof(tinymoe_merges[0]))

/* A byte as the character that stands for it in a byte-level vocabulary. */
static size_t byte_char(uint8_t byte, char *out)
{
	uint32_t code = byte, next = 256;

	for (uint32_t b = 0; b <= byte; b++) {
		if ((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174)
			continue;
		if (b == byte)
			code = next;
		next++;
	}
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	out[0] = (char)(0xc0 | code >> 6);
	out[1] = (char)(0x80 | (code & 0x3f));
	return 2;
}

/* @s in those characters; the tab between the parts of a merge becomes @tab or vanishes. */
static void byte_chars(const char *s, const char *tab, char *out)
{
	for (; *s; s++) {
		if (*s == '\t') {
			strcpy(out, tab);
			out += strlen(tab);
		} else {
			out += byte_char((uint8_t)*s, out);
		}
	}
	*out = 0;
}

uint32_t tinymoe_merge_count(uint32_t vocab)
{
	uint32_t room = vocab - N_SPECIAL - N_BYTES;

	return room < N_MERGES ? room : (uint32_t)N_MERGES;
}

void tinymoe_merge(uint32_t i, char *text)
{
	byte_chars(tinymoe_merges[i], " ", text);
}

uint32_t tinymoe_token_kind(uint32_t id, uint32_t vocab)
{
	return id < N_SPECIAL ? 3 : id < N_SPECIAL + N_BYTES + tinymoe_merge_count(vocab) ? 1 : 5;
}

void tinymoe_token(uint32_t id, uint32_t vocab, char *text)
{
	static const char * const special[N_SPECIAL] = {
		"<\uff5cbegin\u2581of\u2581sentence\uff5c>",
		"<\uff5cend\u2581of\u2581sentence\uff5c>",
		"<\uff5c\u2581pad\u2581\uff5c>",
	};

	if (id < N_SPECIAL)
		strcpy(text, special[id]);
	else if (id < N_SPECIAL + N_BYTES)
		text[byte_char((uint8_t)(id - N_SPECIAL), text)] = 0;
	else if (id < N_SPECIAL + N_BYTES + tinymoe_merge_count(vocab))
		byte_chars(tinymoe_merges[id - N_SPECIAL - N_BYTES], "", text);
	else
		sprintf(text, "[PAD%u]", id);
}

static void put_json(const char *s, FILE *f)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		fputc(*s, f);
	}
	fputc('"', f);
}

static void put_splits(FILE *f)
{
	static const char * const patterns[] = {
		"\\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
		"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
	};

	fputs("\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": []},\n"
	      "\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [", f);
	for (int i = 0; i < 3; i++) {
		fputs("{\"type\": \"Split\", \"pattern\": {\"Regex\": ", f);
		put_json(patterns[i], f);
		fputs("}, \"behavior\": \"Isolated\", \"invert\": false},\n", f);
	}
	fputs("{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, "
	      "\"use_regex\": false}]},\n", f);
}

static void put_model(uint32_t vocab, FILE *f)
{
	char text[64];

	fputs("\"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
	      "\"trim_offsets\": true, \"use_regex\": true},\n"
	      "\"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, "
	      "\"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, "
	      "\"fuse_unk\": false, \"byte_fallback\": false, \"vocab\": {", f);
	for (uint32_t id = 0; id < vocab; id++) {
		tinymoe_token(id, vocab, text);
		fputs(id ? ", " : "", f);
		put_json(text, f);
		fprintf(f, ": %u", id);
	}
	fputs("}, \"merges\": [", f);
	for (uint32_t i = 0; i < tinymoe_merge_count(vocab); i++) {
		tinymoe_merge(i, text);
		fputs(i ? ", " : "", f);
		put_json(text, f);
	}
	fputs("]}}\n", f);
}

void tinymoe_write_tokenizer(uint32_t vocab, FILE *f)
{
	char text[64];

	fputs("{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, "
	      "\"added_tokens\": [", f);
	for (uint32_t id = 0; id < N_SPECIAL; id++) {
		tinymoe_token(id, vocab, text);
		fprintf(f, "%s{\"id\": %u, \"content\": ", id ? ", " : "", id);
		put_json(text, f);
		fputs(", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
		      "\"normalized\": false, \"special\": true}", f);
	}
	fputs("],\n", f);
	put_splits(f);
	put_model(vocab, f);
}
