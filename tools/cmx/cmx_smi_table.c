// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of npu-smi for a machine with two dies per NPU, for those who read it by habit or
 * by script. What is not modelled (power, temperature, pages) is N/A.
 */
#include <inttypes.h>
#include <stdio.h>

#include <cmx/cmx.h>

#include "cmx_amount.h"
#include "cmx_part.h"
#include "cmx_smi.h"
#include "cmx_stdout.h"

#define MB(bytes)	((bytes) >> 20)

static void put_rule(char c, bool columns)
{
	static const int widths[] = { 27, 15, 52 };

	for (int i = 0; i < 3; i++) {
		putchar(i && !columns ? c : '+');
		for (int k = 0; k < widths[i]; k++)
			putchar(c);
	}
	printf("+\n");
}

static void put_head(const struct cmx_smi *smi)
{
	const struct cmx_snapshot *s = &smi->snapshot;
	char text[96];

	put_rule('-', false);
	snprintf(text, sizeof(text), "cmx smi %s        supernode: %s, %u nodes, state %u",
		 cmx_version(), s->machine.profile, s->machine.nodes, s->machine.generation);
	printf("| %-94s |\n", text);
	snprintf(text, sizeof(text), "virtual time: %s        links down: %u, degraded: %u",
		 cmx_amount_time(s->span_ps).text, s->machine.links_down,
		 s->machine.links_degraded);
	printf("| %-94s |\n", text);
	put_rule('-', true);
	printf("| NPU   Name                | Health        | Power(W)    Temp(C)           "
	       "Hugepages-Usage(page)|\n"
	       "| Chip  Phy-ID              | CNA           | AICore(%%)   Memory-Usage(MB)  "
	       "HBM-Usage(MB)        |\n");
	put_rule('=', true);
}

static void put_die(const struct cmx_smi *smi, uint32_t die)
{
	const struct cmx_fabric_machine *m = &smi->snapshot.machine;
	const struct cmx_fabric_entity *e = &smi->snapshot.entities[die];
	uint32_t npu = die / m->dies_per_npu, core = cmx_smi_share(smi, die, CMX_SMI_CORE);
	char name[32], use[32], hbm[48];

	snprintf(name, sizeof(name), "n%u.npu%u", npu / m->npus_per_node, npu % m->npus_per_node);
	snprintf(use, sizeof(use), "%u.%u", core / 10, core % 10);
	snprintf(hbm, sizeof(hbm), "%" PRIu64 " / %" PRIu64, MB(e->used), MB(e->capacity));
	printf("| %-5u %-19s | %-13s | %-11s %-17s %-21s|\n", npu, name,
	       cmx_smi_health(smi, die), "N/A", "N/A", "N/A");
	printf("| %-5u %-19u | %#-13x | %-11s %-17s %-21s|\n", die % m->dies_per_npu, die, e->cna,
	       use, "N/A", hbm);
	put_rule(die % m->dies_per_npu == m->dies_per_npu - 1 ? '=' : '-',
		 die % m->dies_per_npu == m->dies_per_npu - 1);
}

static void put_process(const struct cmx_smi *smi, const struct cmx_fabric_client *client,
			const struct cmx_fabric_client_entity *on)
{
	const struct cmx_fabric_machine *m = &smi->snapshot.machine;
	char pid[16] = "-";

	if (client->pid)
		snprintf(pid, sizeof(pid), "%u", client->pid);
	printf("| %-7u %-17u | %-13s | %-24s | %-23" PRIu64 " |\n", on->index / m->dies_per_npu,
	       on->index % m->dies_per_npu, pid, cmx_part_process(client->comm).text,
	       MB(on->bytes));
}

static void put_processes(const struct cmx_smi *smi)
{
	const struct cmx_snapshot *s = &smi->snapshot;
	uint32_t rows = 0;

	printf("| NPU     Chip              | Process id    | Process name             | "
	       "Process memory(MB)      |\n");
	put_rule('=', true);
	for (uint32_t i = 0; i < s->num_clients; i++) {
		for (uint32_t k = 0; k < s->clients[i].num_entities; k++) {
			if (!cmx_smi_shows(smi, s->clients[i].entities[k].index))
				continue;
			put_process(smi, &s->clients[i], &s->clients[i].entities[k]);
			rows++;
		}
	}
	if (!rows)
		printf("| %-94s |\n", "no process uses an NPU of these");
	put_rule('=', true);
	if (s->num_clients < s->machine.clients)
		printf("%u of %u clients are other users' and not shown\n",
		       s->machine.clients - s->num_clients, s->machine.clients);
}

int cmx_smi_print_table(const struct cmx_smi *smi)
{
	put_head(smi);
	for (uint32_t i = 0; i < smi->snapshot.machine.num_dies; i++)
		if (cmx_smi_shows(smi, i))
			put_die(smi, i);
	put_processes(smi);
	return cmx_stdout_flush("smi");
}
