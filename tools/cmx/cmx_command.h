/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sub-commands of cmx: each gets its own arguments (argv[0] is its name) and returns the
 * exit status.
 */
#ifndef CMX_COMMAND_H
#define CMX_COMMAND_H

/* Exit statuses. */
enum cmx_exit {
	CMX_EXIT_OK = 0,
	CMX_EXIT_FAILED = 1,
	CMX_EXIT_USAGE = 2,
	CMX_EXIT_STOPPED = 130,
};

int cmx_counters_main(int argc, char **argv);
int cmx_info_main(int argc, char **argv);
int cmx_infer_main(int argc, char **argv);
int cmx_link_main(int argc, char **argv);
int cmx_monitor_main(int argc, char **argv);
int cmx_perf_main(int argc, char **argv);
int cmx_profile_main(int argc, char **argv);
int cmx_smi_main(int argc, char **argv);
int cmx_timeline_main(int argc, char **argv);
int cmx_topo_main(int argc, char **argv);
int cmx_trace_main(int argc, char **argv);
int cmx_verify_main(int argc, char **argv);

#endif /* CMX_COMMAND_H */
