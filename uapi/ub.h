/* SPDX-License-Identifier: MIT */
/*
 * Unified Bus numbers that CMX shares with URMA: operation codes, completion
 * statuses, access bits, transport modes.  The values are those of URMA's public
 * interface, so a URMA program's constants mean the same thing here.
 */
#ifndef _UAPI_CMX_UB_H_
#define _UAPI_CMX_UB_H_

#if defined(__cplusplus)
extern "C" {
#endif

/** enum ub_opcode - operations of a jetty's send side (values 0x00 to 0x8f are URMA's). */
enum ub_opcode {
	/** @UB_OP_WRITE: write to remote memory; the remote side sees nothing but the bytes. */
	UB_OP_WRITE = 0x00,
	/** @UB_OP_WRITE_IMM: write, then consume a receive entry and report an immediate. */
	UB_OP_WRITE_IMM = 0x01,
	/** @UB_OP_WRITE_NOTIFY: write, then write a 64-bit value to a second place. */
	UB_OP_WRITE_NOTIFY = 0x02,
	/** @UB_OP_READ: read remote memory. */
	UB_OP_READ = 0x10,
	/** @UB_OP_CAS: compare and swap at the home side. */
	UB_OP_CAS = 0x20,
	/** @UB_OP_SWAP: swap at the home side. */
	UB_OP_SWAP = 0x21,
	/** @UB_OP_FADD: fetch and add at the home side. */
	UB_OP_FADD = 0x22,
	/** @UB_OP_FSUB: fetch and subtract at the home side. */
	UB_OP_FSUB = 0x23,
	/** @UB_OP_FAND: fetch and AND at the home side. */
	UB_OP_FAND = 0x24,
	/** @UB_OP_FOR: fetch and OR at the home side. */
	UB_OP_FOR = 0x25,
	/** @UB_OP_FXOR: fetch and XOR at the home side. */
	UB_OP_FXOR = 0x26,
	/** @UB_OP_SEND: message into a receive entry of the target. */
	UB_OP_SEND = 0x40,
	/** @UB_OP_SEND_IMM: message with an immediate. */
	UB_OP_SEND_IMM = 0x41,
	/** @UB_OP_SEND_INVALIDATE: message that carries a token to invalidate. */
	UB_OP_SEND_INVALIDATE = 0x42,
	/** @UB_OP_NOP: does nothing, completes. */
	UB_OP_NOP = 0x51,
};

/** enum ub_cr_opcode - what a receive-side completion reports. */
enum ub_cr_opcode {
	/** @UB_CR_OPC_SEND: a message arrived. */
	UB_CR_OPC_SEND = 0x00,
	/** @UB_CR_OPC_SEND_WITH_IMM: a message with an immediate arrived. */
	UB_CR_OPC_SEND_WITH_IMM = 0x01,
	/** @UB_CR_OPC_SEND_WITH_INV: a message with a token to invalidate arrived. */
	UB_CR_OPC_SEND_WITH_INV = 0x02,
	/** @UB_CR_OPC_WRITE_WITH_IMM: a write with an immediate arrived. */
	UB_CR_OPC_WRITE_WITH_IMM = 0x03,
};

/** enum ub_cr_status - completion status; 0 to 16 are URMA's. */
enum ub_cr_status {
	/** @UB_CR_SUCCESS: done. */
	UB_CR_SUCCESS = 0,
	/** @UB_CR_UNSUPPORTED_OPCODE: the operation is not one of this queue class. */
	UB_CR_UNSUPPORTED_OPCODE = 1,
	/** @UB_CR_LOC_LEN_ERR: a local length is out of range. */
	UB_CR_LOC_LEN_ERR = 2,
	/** @UB_CR_LOC_OPERATION_ERR: the entry is malformed (reserved field, flag, alignment). */
	UB_CR_LOC_OPERATION_ERR = 3,
	/** @UB_CR_LOC_ACCESS_ERR: a local address is not mapped, or not for this access. */
	UB_CR_LOC_ACCESS_ERR = 4,
	/** @UB_CR_REM_RESP_LEN_ERR: the receive entry is too small for the message. */
	UB_CR_REM_RESP_LEN_ERR = 5,
	/** @UB_CR_REM_UNSUPPORTED_REQ: the home side refuses the operation. */
	UB_CR_REM_UNSUPPORTED_REQ = 6,
	/** @UB_CR_REM_OPERATION_ERR: the target jetty is gone or in error. */
	UB_CR_REM_OPERATION_ERR = 7,
	/** @UB_CR_REM_ACCESS_ABORT: bounds, access bit or token refused at the home side. */
	UB_CR_REM_ACCESS_ABORT = 8,
	/** @UB_CR_ACK_TIMEOUT: the peer did not answer. */
	UB_CR_ACK_TIMEOUT = 9,
	/** @UB_CR_RNR_RETRY_CNT_EXC: no receive entry within the retries. */
	UB_CR_RNR_RETRY_CNT_EXC = 10,
	/** @UB_CR_WR_FLUSH_ERR: the queue went to ERROR before the entry was carried out. */
	UB_CR_WR_FLUSH_ERR = 11,
	/** @UB_CR_WR_SUSPEND_DONE: marker: suspend finished. */
	UB_CR_WR_SUSPEND_DONE = 12,
	/** @UB_CR_WR_FLUSH_ERR_DONE: marker: flush finished. */
	UB_CR_WR_FLUSH_ERR_DONE = 13,
	/** @UB_CR_WR_UNHANDLED: returned for entries the engine never touched. */
	UB_CR_WR_UNHANDLED = 14,
	/** @UB_CR_LOC_DATA_POISON: local memory is poisoned. */
	UB_CR_LOC_DATA_POISON = 15,
	/** @UB_CR_REM_DATA_POISON: remote memory is poisoned. */
	UB_CR_REM_DATA_POISON = 16,
};

/** enum ub_trans_mode - what a jetty offers (a bit each). */
enum ub_trans_mode {
	/** @UB_TM_RM: reliable message, one jetty to many peers. */
	UB_TM_RM = 1,
	/** @UB_TM_RC: reliable connection, one to one. */
	UB_TM_RC = 2,
	/** @UB_TM_UM: unreliable message. */
	UB_TM_UM = 4,
};

/** enum ub_order_type - who keeps the order of a jetty's transactions. */
enum ub_order_type {
	/** @UB_ORDER_DEFAULT: as the transport mode has it (RM: OI, RC: OL, UM: NO). */
	UB_ORDER_DEFAULT = 0,
	/** @UB_ORDER_OT: target orders. */
	UB_ORDER_OT = 1,
	/** @UB_ORDER_OI: initiator orders. */
	UB_ORDER_OI = 2,
	/** @UB_ORDER_OL: lower layer orders. */
	UB_ORDER_OL = 3,
	/** @UB_ORDER_NO: unordered. */
	UB_ORDER_NO = 4,
};

/** enum ub_token_policy - how a token protects a segment or a receive queue. */
enum ub_token_policy {
	/** @UB_TOKEN_NONE: no token. */
	UB_TOKEN_NONE = 0,
	/** @UB_TOKEN_PLAIN_TEXT: the value is compared at every access. */
	UB_TOKEN_PLAIN_TEXT = 1,
	/** @UB_TOKEN_SIGNED: not offered by CMX. */
	UB_TOKEN_SIGNED = 2,
	/** @UB_TOKEN_ALL_ENCRYPTED: not offered by CMX. */
	UB_TOKEN_ALL_ENCRYPTED = 3,
};

/** enum ub_queue_state - state of a jetty's send side. */
enum ub_queue_state {
	/** @UB_QUEUE_RESET: entries are not looked at. */
	UB_QUEUE_RESET = 0,
	/** @UB_QUEUE_READY: entries are carried out. */
	UB_QUEUE_READY = 1,
	/** @UB_QUEUE_SUSPENDED: parked after a transport error. */
	UB_QUEUE_SUSPENDED = 2,
	/** @UB_QUEUE_ERROR: entries complete with UB_CR_WR_FLUSH_ERR. */
	UB_QUEUE_ERROR = 3,
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_CMX_UB_H_ */
