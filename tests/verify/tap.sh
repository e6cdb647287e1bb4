# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# For the scripts beside this file: TAP, and questions about what cmx prints.
. tests/docs/tap.sh
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# The command fails with this status and a text that has all the words.
refuses()	# status 'words' command...
{
	local want=$1 words=$2 text

	shift 2
	text=$("$@" 2>&1)
	[ $? = "$want" ] || { echo "$text"; return 1; }
	for word in $words; do
		grep -qF -- "$word" <<<"$text" || { echo "no '$word' in: $text"; return 1; }
	done
}

# A python expression over the JSON in a file, which it knows as d.
holds()	# file expression
{
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(d if len(str(d)) < 2000 else "...")
sys.exit(not eval(sys.argv[2]))' "$1" "$2"
}
