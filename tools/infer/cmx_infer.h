/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CMX_INFER_H
#define CMX_INFER_H

/* `cmx infer ...`: argv[0] is "infer". Returns the exit status. */
int cmx_infer_main(int argc, char **argv);
/* `cmx infer run ...`: argv[0] is "run". */
int cmx_infer_run(int argc, char **argv);
/* `cmx infer ppl ...`: argv[0] is "ppl". */
int cmx_infer_ppl(int argc, char **argv);
/* `cmx infer quantize ...`: argv[0] is "quantize". */
int cmx_infer_quantize(int argc, char **argv);
/* `cmx infer bench ...`: argv[0] is "bench". */
int cmx_infer_bench(int argc, char **argv);

#endif
