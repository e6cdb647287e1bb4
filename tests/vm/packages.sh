#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Install what building and testing need and the machine lacks. Without anything missing this is
# one dpkg-query: no network, no apt-get update.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

WANT="gcc g++ gcc-multilib make flex bison bc libelf-dev libssl-dev dwarves cpio kmod rsync xz-utils
	qemu-system-x86 pkg-config libdrm-dev libnl-3-dev libnl-genl-3-dev libjansson-dev sparse
	shellcheck python3 python3-numpy python3-yaml python3-jsonschema util-linux procps git perl
	groff-base libsimde-dev libopenblas-dev libdnnl-dev"

missing()
{
	local p

	# It fails if any is unknown, which is an answer here.
	# shellcheck disable=SC2086
	{ dpkg-query -W -f '${Package} ${db:Status-Status}\n' $WANT 2>/dev/null || :; } |
		awk '$2 == "installed" { print $1 }' | sort -u >"$have"
	for p in $WANT; do
		grep -qx "$p" "$have" || printf '%s\n' "$p"
	done
}

have=$(mktemp)
trap 'rm -f "$have"' EXIT
list=$(missing)
[ -n "$list" ] || exit 0

# shellcheck disable=SC2086
set -- $list
[ "$(id -u)" = 0 ] || die "missing packages, install them as root: apt-get install $*"
command -v apt-get >/dev/null || die "no apt-get: this needs Debian 12 or 13 (missing: $*)"
note "installing: $*"
log=$(mktemp)
trap 'rm -f "$have" "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get -q update && apt-get -q -y --no-install-recommends install "$@"; } >"$log" 2>&1; then
	tail -n 30 "$log" >&2
	die "apt-get could not install: $*"
fi
list=$(missing)
[ -z "$list" ] || die "still missing after apt-get install: $(tr '\n' ' ' <<<"$list")"
