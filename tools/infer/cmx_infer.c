// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_infer.h"

#include <stdio.h>
#include <string.h>

static void usage(FILE *f)
{
	fputs("usage: cmx infer run|ppl|quantize|bench -m MODEL [options]\n"
	      "  run       run a model; --help behind any of these lists its options\n"
	      "  ppl       measure a model's perplexity on a text\n"
	      "  quantize  make an INT8 model out of a GGUF file\n"
	      "  bench     measure serving on the virtual machine, in time only\n", f);
}

int cmx_infer_main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "run"))
		return cmx_infer_run(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "quantize"))
		return cmx_infer_quantize(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "bench"))
		return cmx_infer_bench(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "ppl"))
		return cmx_infer_ppl(argc - 1, argv + 1);
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		usage(stdout);
		return 0;
	}
	if (argc > 1)
		fprintf(stderr, "cmx infer: unknown command '%s'\n", argv[1]);
	usage(stderr);
	return 2;
}
