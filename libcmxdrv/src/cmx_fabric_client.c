// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_fabric_priv.h"
#include "cmx_fail.h"

#define COUNT(array)	(sizeof(array) / sizeof(*(array)))

/* Clients, and what all of them have on entities, in the same order. */
struct clients {
	struct cmx_fabric_list list;
	struct cmx_fabric_list entities;
};

static int take_client_entity(struct clients *clients, struct cmx_fabric_client *client,
			      struct nlattr *attr)
{
	static const struct cmx_nl_field fields[] = {
		CMX_NL_FIELD(CLIENT_ENTITY, INDEX, cmx_fabric_client_entity, index),
		CMX_NL_FIELD(CLIENT_ENTITY, QUEUES, cmx_fabric_client_entity, queues),
		CMX_NL_FIELD(CLIENT_ENTITY, BYTES, cmx_fabric_client_entity, bytes),
	};
	struct cmx_fabric_client_entity *entity = cmx_fabric_list_add(&clients->entities);
	struct nlattr *attrs[CMX_A_CLIENT_ENTITY_MAX + 1];

	if (!entity)
		return cmx_fail_call(-ENOMEM, "cmx_fabric_clients");
	if (!nla_parse_nested(attrs, CMX_A_CLIENT_ENTITY_MAX, attr, NULL))
		cmx_nl_read(entity, attrs, fields, COUNT(fields));
	client->num_entities++;
	return 0;
}

/* The client a message is about: a new one, or the last one, of which there is more. */
static struct cmx_fabric_client *find_client(struct cmx_fabric_list *list, uint64_t id)
{
	struct cmx_fabric_client *client = list->rows;

	if (list->count && client[list->count - 1].id == id)
		return &client[list->count - 1];
	return cmx_fabric_list_add(list);
}

static int take_client(const struct cmx_nl_answer *answer, void *arg)
{
	static const struct cmx_nl_field fields[] = {
		CMX_NL_FIELD(CLIENT, ID, cmx_fabric_client, id),
		CMX_NL_FIELD(CLIENT, PID, cmx_fabric_client, pid),
		CMX_NL_FIELD(CLIENT, UID, cmx_fabric_client, uid),
		CMX_NL_FIELD(CLIENT, QUEUES, cmx_fabric_client, queues),
		CMX_NL_FIELD(CLIENT, CQS, cmx_fabric_client, cqs),
		CMX_NL_FIELD(CLIENT, BOS, cmx_fabric_client, bos),
		CMX_NL_FIELD(CLIENT, MAPPINGS, cmx_fabric_client, mappings),
		CMX_NL_FIELD(CLIENT, COMMANDS, cmx_fabric_client, commands),
		CMX_NL_FIELD(CLIENT, LAUNCHES, cmx_fabric_client, launches),
		CMX_NL_FIELD(CLIENT, BYTES, cmx_fabric_client, bytes),
	};
	struct clients *clients = arg;
	struct cmx_fabric_client *client;
	struct nlattr *attr;
	uint64_t id = 0;
	int left, ret;

	if (answer->attrs[CMX_A_CLIENT_ID])
		id = nla_get_u64(answer->attrs[CMX_A_CLIENT_ID]);
	client = find_client(&clients->list, id);
	if (!client)
		return cmx_fail_call(-ENOMEM, "cmx_fabric_clients");
	cmx_nl_read(client, answer->attrs, fields, COUNT(fields));
	if (answer->attrs[CMX_A_CLIENT_COMM])
		cmx_nl_text(client->comm, sizeof(client->comm), answer->attrs[CMX_A_CLIENT_COMM]);
	nla_for_each_attr(attr, answer->first, answer->len, left) {
		ret = nla_type(attr) == CMX_A_CLIENT_ENTITY ?
		      take_client_entity(clients, client, attr) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

/* One piece of memory, as the caller frees but one. */
static struct cmx_fabric_client *join(const struct clients *clients)
{
	size_t size = clients->list.count * sizeof(struct cmx_fabric_client);
	size_t behind = clients->entities.count * sizeof(struct cmx_fabric_client_entity);
	struct cmx_fabric_client_entity *entity;
	struct cmx_fabric_client *client;

	client = malloc(size + behind + 1);
	if (!client)
		return NULL;
	entity = (struct cmx_fabric_client_entity *)((char *)client + size);
	if (size)
		memcpy(client, clients->list.rows, size);
	if (behind)
		memcpy(entity, clients->entities.rows, behind);
	for (size_t i = 0; i < clients->list.count; i++) {
		client[i].entities = entity;
		entity += client[i].num_entities;
	}
	return client;
}

int cmx_fabric_clients(struct cmx_fabric *fabric, struct cmx_fabric_client **rows)
{
	struct clients clients = {
		.list.row_size = sizeof(struct cmx_fabric_client),
		.entities.row_size = sizeof(struct cmx_fabric_client_entity),
	};
	struct nl_msg *msg;
	int ret;

	*rows = NULL;
	do {
		clients.list.count = 0;
		clients.entities.count = 0;
		msg = cmx_fabric_request(fabric, CMX_CMD_CLIENT_GET, NLM_F_DUMP);
		ret = msg ? cmx_fabric_call(fabric, msg, CMX_A_CLIENT_MAX, take_client, &clients) :
			    -ENOMEM;
		/* Only another machine interrupts this, and it has other clients. */
	} while (ret == 1);
	if (!ret) {
		*rows = join(&clients);
		ret = *rows ? (int)clients.list.count :
			      cmx_fail_call(-ENOMEM, "cmx_fabric_clients");
	}
	free(clients.list.rows);
	free(clients.entities.rows);
	return ret;
}
