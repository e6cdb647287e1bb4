#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Counters, shares and processes of a client that copies; two nodes are loaded.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/tools/tap.sh
mib=$((1 << 20))

# Starts a client that stays, and waits until its copies are done.
hold()
{
	build/tests/tools/traffic "$@" hold >"$tmp/hold" &
	client=$!
	until [ -s "$tmp/hold" ] || ! kill -0 "$client" 2>/dev/null; do
		sleep 0.1
	done
}

# The links of an entity carried COUNT bytes together, down to the last one.
carried()
{
	local entity=$1 way=$2 bytes=$3

	json "sum(l['$way'] for l in v['links'] if l['kind'] == 'ub' and
		l['a'].get('entity') == $entity) == $bytes" cmx counters --all --json
}

conserved()
{
	json "sum(c['in_bytes'] for c in v['chips']) == $1 and
		all(c['in_bytes'] == c['out_bytes'] for c in v['chips'])" cmx counters --json
}

no_share_over_all()
{
	json "all(l[w] <= v['virtual_ps']
		for l in v['links'] for w in ('up_busy_ps', 'down_busy_ps')) and
		all(e['mem_busy_ps'] <= v['virtual_ps'] for e in v['entities'])" \
		cmx counters --all --json
}

check "nothing happened yet" json "v['virtual_ps'] == 0 and v['links'][0]['up_bytes'] == 0" \
	cmx counters --json
hold 0 21 $((8 * mib)) 3
check "a client copies 3 times 8 MiB to die 0 from die 21 of the other node" \
	grep -qx "ready [0-9]* 0" "$tmp/hold"
check "its bytes came in" carried 0 down_bytes $((24 * mib))
check "from there" carried 21 up_bytes $((24 * mib))
check "and nothing went the other way" carried 0 up_bytes 0
check "chips gave out what they got" conserved $((3 * 24 * mib))
check "the text says so" says "126 of 126 chips gave out what they got" cmx counters
check "the busiest come first" json \
	"v['links'][0]['down_bytes'] + v['links'][0]['up_bytes'] >= $((24 * mib / 7))" \
	cmx counters --top 1 --json
check "shares are of time that went by" no_share_over_all
check "it is a client" json \
	"len(v['clients']) == 1 and v['clients'][0]['pid'] == $client and
	 v['clients'][0]['name'] == 'traffic' and v['clients'][0]['bytes'] == $((24 * mib)) and
	 v['clients'][0]['queues'] == 1 and v['clients'][0]['bos'] == 2" \
	cmx counters --clients --json
check "with memory on two dies" json \
	"{e['name']: e['bytes'] for e in v['clients'][0]['entities']} ==
	 {'n0.npu0.die0': $((8 * mib)), 'n1.npu2.die1': $((8 * mib))}" cmx counters --clients --json
check "smi has it" has "| 0 0 | $client | traffic | 8 |" cmx smi
check "on both dies" has "| 10 1 | $client | traffic | 8 |" cmx smi --node n1
check "smi has the memory" json \
	"v['dies'][0]['hbm_used_bytes'] == $((8 * mib)) and v['dies'][1]['hbm_used_bytes'] == 0" \
	cmx smi --json
check "ports were busy" json \
	"v['dies'][0]['port_permille'] > 0 and v['dies'][1]['port_permille'] == 0" cmx smi --json
check "nothing is added while it holds" json \
	"v['virtual_ps'] == 0 and all(l['up_bytes'] == 0 for l in v['links'])" \
	cmx counters --rate 0.1 --json
kill "$client"
wait "$client" 2>/dev/null
check "counters stay" carried 0 down_bytes $((24 * mib))
check "it is no client any more" json "v['clients'] == []" cmx counters --clients --json
check "another one" build/tests/tools/traffic 16 2 $((4 * mib)) 2
check "is added" carried 2 up_bytes $((8 * mib))
check "shares of both are of the time of both" no_share_over_all
check "to the sibling: no chip" build/tests/tools/traffic 4 5 $mib 1
check "chips carried no more" conserved $((3 * 32 * mib))

# Cut off in the middle of the machine's life: an error, not a hang.
cmx link set entity:21 down
check "a copy from what is down fails" bash -c \
	'build/tests/tools/traffic 0 21 4096 1 | grep -qx "ready [0-9]* 9"'
check "the error is counted" json "v['entities'][0]['errors'] >= 1" cmx counters --json
cmx link set entity:21 up

# A client that copies without end: whoever looks for a while sees some of it.
build/tests/tools/traffic 0 18 $mib 1000000000 >/dev/null &
client=$!
virtual_ps()
{
	cmx counters --json --top 1 |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["virtual_ps"])'
}
before=$(virtual_ps)
until [ "$(virtual_ps)" != "$before" ] || ! kill -0 "$client" 2>/dev/null; do
	sleep 0.1
done
check "rates per second of virtual time" json \
	"v['virtual_ps'] > 0 and 10e9 < max(l['down_bytes_per_s'] for l in v['links']) < 28e9" \
	cmx counters --rate 1 --json

# busy WHICH: whether all tables but the first one have a busy port, or none of them has.
busy()
{
	cmx smi --watch 1 --count 4 --json >"$tmp/watch" || return 1
	python3 - "$tmp/watch" "$1" <<-'END'
		import json, sys
		tables = [json.loads(l) for l in open(sys.argv[1])]
		if len(tables) != 4:
		    sys.exit('%d tables' % len(tables))
		busy = [t['dies'][0]['port_permille'] > 0 for t in tables[1:]]
		if busy != [sys.argv[2] == 'all'] * 3:
		    sys.exit('busy: %s' % busy)
	END
}
check "a watch sees it in all tables" busy all
kill "$client"
wait "$client" 2>/dev/null
check "and in none when it ended" busy none
check "the picture of an interval" cmx topo --svg "$tmp/out.svg" --interval 0.1
finish
