# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For the scripts beside this file: TAP, and questions about what cmx prints.
. tests/docs/tap.sh
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# has LINE COMMAND...: a line of what it prints, blanks drawn together.
has()
{
	local want=$1 out

	shift
	out=$("$@") || { echo "exit status $?"; echo "$out"; return 1; }
	tr -s ' ' <<<"$out" | sed 's/^ //; s/ $//' | grep -qxF -- "$want" ||
		{ echo "no line: $want"; echo "$out"; return 1; }
}

# says TEXT COMMAND...: TEXT is in what it prints.
says()
{
	local want=$1 out

	shift
	out=$("$@") || { echo "exit status $?"; echo "$out"; return 1; }
	grep -qF -- "$want" <<<"$out" || { echo "no '$want' in: $out"; return 1; }
}

# fails STATUS TEXT COMMAND...: with a message that has TEXT.
fails()
{
	local status=$1 want=$2 rc=0 out

	shift 2
	out=$("$@" 2>&1 >/dev/null) || rc=$?
	[ "$rc" = "$status" ] || { echo "exit status $rc: $out"; return 1; }
	grep -qF -- "$want" <<<"$out" || { echo "no '$want' in: $out"; return 1; }
}

# json EXPRESSION COMMAND...: what it prints is JSON, and EXPRESSION of it (v) is true.
json()
{
	local expression=$1

	shift
	"$@" >"$tmp/json" || { echo "exit status $?"; return 1; }
	python3 - "$expression" "$tmp/json" <<-'END'
		import json, sys
		v = json.load(open(sys.argv[2]))
		if not eval('(' + sys.argv[1] + ')'):
		    sys.exit('not true: %s\n%s' % (sys.argv[1], json.dumps(v)[:2000]))
	END
}
