# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# TAP for the scripts beside this file; they run at the top of the tree.
tap_n=0
tap_failed=0

# check NAME COMMAND...: its output is shown when it fails.
check()
{
	local name=$1 said

	shift
	tap_n=$((tap_n + 1))
	if said=$("$@" 2>&1); then
		printf 'ok %d %s\n' "$tap_n" "$name"
		return
	fi
	printf 'not ok %d %s\n' "$tap_n" "$name"
	[ -z "$said" ] || printf '%s\n' "$said" | sed 's/^/# /'
	tap_failed=1
}

finish()
{
	printf '1..%d\n' "$tap_n"
	exit "$tap_failed"
}

# fenced FILE LANGUAGE: the text of all code blocks of that language.
fenced()
{
	awk -v open="\`\`\`$2" '
		/^```/ { if (inside) inside = 0; else if ($0 == open) inside = 1; next }
		inside' "$1"
}
