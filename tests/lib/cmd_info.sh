#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The cmx command: info as text and as JSON (two nodes are loaded), help, bad usage.
set -u
cd "$(dirname "$0")/../.." || exit 1
number=0 failed=0

check()	# name command...
{
	local name=$1

	shift
	number=$((number + 1))
	if "$@"; then
		echo "ok $number $name"
	else
		failed=1
		echo "not ok $number $name"
	fi
}

says()	# text pattern
{
	grep -qE "$2" <<<"$1" || {
		echo "# ${1//$'\n'/$'\n'# }"
		return 1
	}
}

exits()	# status command...
{
	local want=$1

	shift
	"$@" >/dev/null 2>&1
	[ $? = "$want" ]
}

text=$(cmx info)
json=$(cmx info --json)
one=$(cmx info --entity 33)

echo "TAP version 13"
echo "1..14"
check "text: machine" says "$text" '2 nodes, 16 NPUs, 32 dies, 8 sockets'
check "text: a die" says "$text" '^ +0 +die +node 0 npu 0 die 0 '
check "text: a socket" says "$text" '^ +32 +socket +node 0 socket 0 '
check "text: capacity" says "$text" 'memory 64 GiB \(0 B used'
check "all entities" [ "$(cmx info --entities | grep -cE '^ +[0-9]+ +(die|socket) ')" = 40 ]
check "one entity" says "$one" '^ +33 +socket'
check "json: dies" says "$json" '"dies": 32,'
check "json: as many entities" [ "$(grep -c '"guid"' <<<"$json")" = 40 ]
check "json: well formed" python3 -c 'import json, sys; json.loads(sys.argv[1])' "$json"
check "no such entity" says "$(cmx info --entity 40 2>&1)" '^cmx info: .*40'
check "no such device" exits 1 cmx info --device /dev/null
check "unknown option" exits 2 cmx info --nonsense
check "unknown command" exits 2 cmx nonsense
check "help and version" says "$(cmx help; cmx --version)" '^cmx [0-9.]+, interface 1\.'
exit $failed
