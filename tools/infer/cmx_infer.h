/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CMX_INFER_H
#define CMX_INFER_H

/* `cmx infer ...`: argv[0] is "infer". Returns the exit status. */
int cmx_infer_main(int argc, char **argv);
/* `cmx infer run ...`: argv[0] is "run". */
int cmx_infer_run(int argc, char **argv);

#endif
