/* SPDX-License-Identifier: MIT */
/*
 * Management of the supernode: its shape, state, counters, clients and events.
 */
#ifndef CMX_FABRIC_H
#define CMX_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmx/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Fabric
 *
 * A connection to the module's generic netlink family `cmx`.  Shape, state and link
 * counters can be read by everybody.  Rows of a client are shown to its own user and to
 * CAP_NET_ADMIN; changes need CAP_NET_ADMIN.  A refusal leaves the module's own text in
 * cmx_last_error().
 *
 * Lists are arrays that the caller frees with free().  A list is taken again when the
 * machine changed while it was read; when it changes without pause, rows of different
 * moments are returned in the end.  A connection belongs to one thread at a time.
 */
struct cmx_fabric;

/** cmx_fabric_open - connect; -ENODEV when the module is not loaded. */
int cmx_fabric_open(struct cmx_fabric **fabric);

/** cmx_fabric_close - disconnect; @fabric may be NULL. */
void cmx_fabric_close(struct cmx_fabric *fabric);

/* -------------------------------------------------------------------------- shape */

/** struct cmx_fabric_machine - the supernode. */
struct cmx_fabric_machine {
	/** @profile: name of the profile. */
	char profile[32];
	/** @nodes: nodes in use. */
	uint32_t nodes;
	/** @npus_per_node: NPUs of a node. */
	uint32_t npus_per_node;
	/** @dies_per_npu: dies of an NPU. */
	uint32_t dies_per_npu;
	/** @sockets_per_node: CPU sockets of a node. */
	uint32_t sockets_per_node;
	/** @planes: UB sub-planes, L1 chips of a node. */
	uint32_t planes;
	/** @l2_per_plane: L2 chips of a sub-plane. */
	uint32_t l2_per_plane;
	/** @num_dies: entities 0 to num_dies - 1. */
	uint32_t num_dies;
	/** @num_entities: dies, then sockets. */
	uint32_t num_entities;
	/** @num_l1: chips 0 to num_l1 - 1. */
	uint32_t num_l1;
	/** @num_chips: L1, then L2 chips. */
	uint32_t num_chips;
	/** @num_links: links of all planes. */
	uint32_t num_links;
	/** @generation: changes of state since the machine was made. */
	uint32_t generation;
	/** @links_down: links that carry nothing now. */
	uint32_t links_down;
	/** @links_degraded: links that are up and not at full rate. */
	uint32_t links_degraded;
	/** @clients: open files. */
	uint32_t clients;
	/** @timelines: virtual clocks. */
	uint32_t timelines;
	/** @now_ps: the furthest of them. */
	uint64_t now_ps;
	/** @total_ps: times of all of them, past ones too: what busy times are shares of. */
	uint64_t total_ps;
};

/** cmx_fabric_get_machine - the supernode as a whole. */
int cmx_fabric_get_machine(struct cmx_fabric *fabric, struct cmx_fabric_machine *machine);

/** struct cmx_fabric_entity - a die or socket, with its state and what it has done. */
struct cmx_fabric_entity {
	/** @index: number in ioctls. */
	uint32_t index;
	/** @kind: enum drm_cmx_entity_kind. */
	uint32_t kind;
	/** @node: node. */
	uint32_t node;
	/** @npu: NPU in the node, or ~0. */
	uint32_t npu;
	/** @unit: die in the NPU, or socket in the node. */
	uint32_t unit;
	/** @cna: primary compact network address. */
	uint32_t cna;
	/** @admin_up: as set; false too when its node was set down. */
	bool admin_up;
	/** @ports_up: its UB links that carry traffic. */
	uint32_t ports_up;
	/** @eid: entity identifier, network byte order. */
	uint8_t eid[16];
	/** @guid: global identity. */
	uint8_t guid[16];
	/** @capacity: bytes of memory. */
	uint64_t capacity;
	/** @used: bytes charged to BOs. */
	uint64_t used;
	/** @resident: bytes of host memory behind them. */
	uint64_t resident;
	/** @launches: kernels completed. */
	uint64_t launches;
	/** @cube_busy_ps: virtual time of launches, weighed by their share of the cube cores. */
	uint64_t cube_busy_ps;
	/** @vector_busy_ps: the same of the vector cores. */
	uint64_t vector_busy_ps;
	/** @mem_busy_ps: virtual time its memory was busy. */
	uint64_t mem_busy_ps;
	/** @mem_bytes: bytes its memory carried. */
	uint64_t mem_bytes;
	/** @errors: commands of its queues that failed for the fabric's sake. */
	uint64_t errors;
	/** @lost_bytes: bytes of them that never left. */
	uint64_t lost_bytes;
};

/** cmx_fabric_entities - all entities by index.  Return: their number, or -errno. */
int cmx_fabric_entities(struct cmx_fabric *fabric, struct cmx_fabric_entity **list);

/** struct cmx_fabric_node - a node. */
struct cmx_fabric_node {
	/** @index: node. */
	uint32_t index;
	/** @admin_up: as set. */
	bool admin_up;
};

/** cmx_fabric_nodes - all nodes in use by index.  Return: their number, or -errno. */
int cmx_fabric_nodes(struct cmx_fabric *fabric, struct cmx_fabric_node **list);

/** enum cmx_fabric_end_kind - what is at an end of a link. */
enum cmx_fabric_end_kind {
	/** @CMX_FABRIC_ENTITY: entity. */
	CMX_FABRIC_ENTITY = 1,
	/** @CMX_FABRIC_CHIP: switch chip. */
	CMX_FABRIC_CHIP,
	/** @CMX_FABRIC_RDMA: the RDMA plane. */
	CMX_FABRIC_RDMA,
	/** @CMX_FABRIC_VPC: the VPC plane. */
	CMX_FABRIC_VPC,
};

/** struct cmx_fabric_end - an end of a link. */
struct cmx_fabric_end {
	/** @kind: enum cmx_fabric_end_kind. */
	uint32_t kind;
	/** @index: entity or chip, else 0. */
	uint32_t index;
	/** @port: port there. */
	uint32_t port;
};

/** struct cmx_fabric_chip - a switch chip. */
struct cmx_fabric_chip {
	/** @index: L1 chips (node, plane) first, then L2 chips (plane, chip of the plane). */
	uint32_t index;
	/** @level: 1 or 2. */
	uint32_t level;
	/** @plane: UB sub-plane. */
	uint32_t plane;
	/** @unit: node (level 1) or chip of the plane (level 2). */
	uint32_t unit;
	/** @ports: ports wired. */
	uint32_t ports;
	/** @admin_up: as set; false too when its node was set down. */
	bool admin_up;
	/** @ports_up: links that carry traffic. */
	uint32_t ports_up;
};

/** cmx_fabric_chips - all switch chips by index.  Return: their number, or -errno. */
int cmx_fabric_chips(struct cmx_fabric *fabric, struct cmx_fabric_chip **list);

/** enum cmx_fabric_link_kind - kinds of links. */
enum cmx_fabric_link_kind {
	/** @CMX_FABRIC_LINK_UB: entity to L1 chip. */
	CMX_FABRIC_LINK_UB = 1,
	/** @CMX_FABRIC_LINK_L2: L1 to L2 chip. */
	CMX_FABRIC_LINK_L2,
	/** @CMX_FABRIC_LINK_DIE: the two dies of an NPU. */
	CMX_FABRIC_LINK_DIE,
	/** @CMX_FABRIC_LINK_RDMA: die to the RDMA plane. */
	CMX_FABRIC_LINK_RDMA,
	/** @CMX_FABRIC_LINK_VPC: node to the VPC plane. */
	CMX_FABRIC_LINK_VPC,
};

/** struct cmx_fabric_link - a link with its state and counters, both directions. */
struct cmx_fabric_link {
	/** @index: link. */
	uint32_t index;
	/** @kind: enum cmx_fabric_link_kind. */
	uint32_t kind;
	/** @plane: UB sub-plane, or ~0. */
	uint32_t plane;
	/** @a: lower end (the entity, or the L1 chip). */
	struct cmx_fabric_end a;
	/** @b: upper end. */
	struct cmx_fabric_end b;
	/** @rate: bytes/s one way when whole. */
	uint64_t rate;
	/** @admin_up: as set. */
	bool admin_up;
	/** @permille: share of the rate as set, 1 to 1000. */
	uint32_t permille;
	/** @effective: share of the rate it has: 0 when it, or what is at an end, is down. */
	uint32_t effective;
	/** @up_bytes: bytes carried from a to b. */
	uint64_t up_bytes;
	/** @down_bytes: bytes carried from b to a. */
	uint64_t down_bytes;
	/** @up_busy_ps: virtual time it was busy from a to b. */
	uint64_t up_busy_ps;
	/** @down_busy_ps: the same from b to a. */
	uint64_t down_busy_ps;
	/** @changes: times its effective share changed. */
	uint32_t changes;
};

/** cmx_fabric_links - all links by index, with counters.  Return: their number, or -errno. */
int cmx_fabric_links(struct cmx_fabric *fabric, struct cmx_fabric_link **list);

/** cmx_fabric_link_states - the same without counters and @changes (0), for less work. */
int cmx_fabric_link_states(struct cmx_fabric *fabric, struct cmx_fabric_link **list);

/** cmx_fabric_get_link - one link with its counters. */
int cmx_fabric_get_link(struct cmx_fabric *fabric, uint32_t index, struct cmx_fabric_link *link);

/** struct cmx_fabric_port - a wired port of an entity or chip. */
struct cmx_fabric_port {
	/** @own: this port. */
	struct cmx_fabric_end own;
	/** @peer: other end of its link. */
	struct cmx_fabric_end peer;
	/** @link: link. */
	uint32_t link;
	/** @link_kind: enum cmx_fabric_link_kind. */
	uint32_t link_kind;
	/** @plane: UB sub-plane, or ~0. */
	uint32_t plane;
	/** @effective: share of the link's rate, permille; 0: it carries nothing. */
	uint32_t effective;
};

/** cmx_fabric_ports - ports of all entities, then of all chips.  Return: number, or -errno. */
int cmx_fabric_ports(struct cmx_fabric *fabric, struct cmx_fabric_port **list);

#define CMX_FABRIC_MAX_PLANES	16
#define CMX_FABRIC_PLANE_RDMA	16	/* bit of a mask of planes */
#define CMX_FABRIC_PLANE_VPC	17

/** struct cmx_fabric_route - how two entities reach each other now. */
struct cmx_fabric_route {
	/** @from: entity asked from. */
	uint32_t from;
	/** @to: entity asked of. */
	uint32_t to;
	/** @hops: links on the way; 0: the same entity. */
	uint32_t hops;
	/** @planes: UB planes in use, a bit each; 0: none (same entity, sibling, cut off). */
	uint32_t planes;
	/** @reachable: false: commands end with UB_CR_ACK_TIMEOUT. */
	bool reachable;
	/** @sibling: over the link between the dies of an NPU. */
	bool sibling;
	/** @plane_rate: bytes/s of each UB plane on this way, after degradation. */
	uint64_t plane_rate[CMX_FABRIC_MAX_PLANES];
	/** @plane_chips: L2 chips in use in each plane (across nodes), else 0. */
	uint32_t plane_chips[CMX_FABRIC_MAX_PLANES];
	/** @read_rate: bytes/s of one large read of @to by @from alone. */
	uint64_t read_rate;
	/** @write_rate: bytes/s of one large write. */
	uint64_t write_rate;
	/** @read_ps: time of a read of 512 bytes. */
	uint64_t read_ps;
	/** @write_ps: time of a write of 512 bytes. */
	uint64_t write_ps;
};

/**
 * cmx_fabric_get_route - way between two entities, and what it gives when nothing else runs.
 * @planes: mask as in struct drm_cmx_queue_create; 0: as commands without a choice.
 */
int cmx_fabric_get_route(struct cmx_fabric *fabric, uint32_t from, uint32_t to, uint32_t planes,
			 struct cmx_fabric_route *route);

struct cmx_fabric_client_entity;

/** struct cmx_fabric_client - an open file and what it holds. */
struct cmx_fabric_client {
	/** @id: number, in order of opening. */
	uint64_t id;
	/** @pid: process that uses it, in the caller's pid namespace, or 0. */
	uint32_t pid;
	/** @uid: user that opened it, in the caller's user namespace. */
	uint32_t uid;
	/** @comm: name of the process; empty: it ended. */
	char comm[16];
	/** @queues: queues. */
	uint32_t queues;
	/** @cqs: completion rings. */
	uint32_t cqs;
	/** @bos: BOs. */
	uint32_t bos;
	/** @mappings: mappings. */
	uint32_t mappings;
	/** @commands: entries carried out. */
	uint64_t commands;
	/** @launches: launches carried out. */
	uint64_t launches;
	/** @bytes: bytes moved. */
	uint64_t bytes;
	/** @num_entities: elements of @entities. */
	uint32_t num_entities;
	/** @entities: entities it has memory or queues on, behind the list itself. */
	const struct cmx_fabric_client_entity *entities;
};

/** struct cmx_fabric_client_entity - what a client has on one entity. */
struct cmx_fabric_client_entity {
	/** @index: entity. */
	uint32_t index;
	/** @queues: queues. */
	uint32_t queues;
	/** @bytes: capacity charged to its BOs. */
	uint64_t bytes;
};

/**
 * cmx_fabric_clients - the clients the caller may see.
 *
 * One free() frees the list and all that is behind it.  Return: their number, or -errno.
 */
int cmx_fabric_clients(struct cmx_fabric *fabric, struct cmx_fabric_client **list);

/* ------------------------------------------------------------------------- changes */

/** enum cmx_fabric_object - what a change or an event is about. */
enum cmx_fabric_object {
	/** @CMX_FABRIC_OBJ_LINK: link. */
	CMX_FABRIC_OBJ_LINK = 1,
	/** @CMX_FABRIC_OBJ_CHIP: switch chip. */
	CMX_FABRIC_OBJ_CHIP,
	/** @CMX_FABRIC_OBJ_ENTITY: die or socket. */
	CMX_FABRIC_OBJ_ENTITY,
	/** @CMX_FABRIC_OBJ_NODE: node, with all that is in it. */
	CMX_FABRIC_OBJ_NODE,
};

/**
 * cmx_fabric_set - change the state of a part; needs CAP_NET_ADMIN.
 * @object: enum cmx_fabric_object.
 * @index: which.
 * @up: 1, 0, or -1: leave it.
 * @permille: links: share of the rate, 1 to 1000, or 0: leave it; others: 0.
 */
int cmx_fabric_set(struct cmx_fabric *fabric, uint32_t object, uint32_t index, int up,
		   uint32_t permille);

/* -------------------------------------------------------------------------- events */

/* Groups of events. */
#define CMX_FABRIC_EVENTS_LINK		(1U << 0)	/* links and chips */
#define CMX_FABRIC_EVENTS_ENTITY	(1U << 1)	/* entities, nodes, profiles */
#define CMX_FABRIC_EVENTS_ERROR		(1U << 2)	/* failed commands */
#define CMX_FABRIC_EVENTS_ALL		7U

/** enum cmx_fabric_event_type - types of events. */
enum cmx_fabric_event_type {
	/** @CMX_FABRIC_EVENT_STATE: a part changed. */
	CMX_FABRIC_EVENT_STATE = 1,
	/** @CMX_FABRIC_EVENT_ERROR: a command failed. */
	CMX_FABRIC_EVENT_ERROR,
	/** @CMX_FABRIC_EVENT_PROFILE: another machine was made. */
	CMX_FABRIC_EVENT_PROFILE,
	/** @CMX_FABRIC_EVENT_LOST: the socket overflowed: events are missing here. */
	CMX_FABRIC_EVENT_LOST,
};

/** struct cmx_fabric_event - one event. */
struct cmx_fabric_event {
	/** @type: enum cmx_fabric_event_type. */
	uint32_t type;
	/** @object: STATE: enum cmx_fabric_object. */
	uint32_t object;
	/** @index: STATE: which; ERROR: entity of the queue. */
	uint32_t index;
	/** @up: STATE: whether it is up. */
	bool up;
	/** @permille: STATE: links: share of the rate. */
	uint32_t permille;
	/** @generation: STATE: of the machine after the change. */
	uint32_t generation;
	/** @peer: ERROR: entity that could not be reached, or ~0. */
	uint32_t peer;
	/** @status: ERROR: completion status. */
	uint32_t status;
	/** @time_ps: ERROR: virtual time. */
	uint64_t time_ps;
	/** @profile: PROFILE: its name. */
	char profile[32];
};

/** cmx_fabric_subscribe - receive events of @groups from now on. */
int cmx_fabric_subscribe(struct cmx_fabric *fabric, uint32_t groups);

/** cmx_fabric_fd - descriptor to poll() for events; it stays the connection's. */
int cmx_fabric_fd(const struct cmx_fabric *fabric);

/**
 * cmx_fabric_next_event - take the next event.
 *
 * Return: 1 with an event, 0 when there is none, or -errno.  Does not wait.
 */
int cmx_fabric_next_event(struct cmx_fabric *fabric, struct cmx_fabric_event *event);

#ifdef __cplusplus
}
#endif

#endif /* CMX_FABRIC_H */
