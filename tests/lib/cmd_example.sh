#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The example of the documentation computes the right number at the same virtual time twice.
set -u
cd "$(dirname "$0")/../.." || exit 1

first=$(build/tests/lib/example) || exit 1
second=$(build/tests/lib/example) || exit 1
echo "$first"
[[ $first =~ ^3969,\ at\ [1-9][0-9]*\.[0-9]{6}\ virtual\ us$ ]] || {
	echo "unexpected output"
	exit 1
}
[ "$first" = "$second" ] || {
	echo "a second run said: $second"
	exit 1
}
