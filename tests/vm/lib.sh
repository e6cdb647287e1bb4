# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Shared by the scripts of this directory: where things are, locks, messages.

# Called from a recipe or not: the makes started here have their own job slots.
unset MAKEFLAGS MFLAGS MAKELEVEL

# A failure inside $(...) counts too.
shopt -s inherit_errexit

# shellcheck disable=SC2034
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
CACHE=${CMX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cmx}

note()
{
	printf 'cmx: %s\n' "$*" >&2
}

die()
{
	printf 'cmx: error: %s\n' "$*" >&2
	exit 125
}

# with_lock NAME COMMAND...: one holder per machine; says so when it has to wait.
with_lock()
{
	local fd

	mkdir -p "$CACHE/lock"
	exec {fd}>"$CACHE/lock/$1"
	if ! flock -n "$fd"; then
		note "waiting for another process that prepares '$1'"
		flock "$fd"
	fi
	shift
	# Not "|| rc=$?": that would switch off errexit inside.
	"$@"
	exec {fd}>&-
}

# The Debian release decides which suite offers which kernel.
debian_codename()
{
	local VERSION_CODENAME='' ID=''

	# shellcheck disable=SC1091
	. /etc/os-release
	[ "$ID" = debian ] || die "this needs Debian 12 or 13, /etc/os-release has ID=$ID"
	printf '%s\n' "$VERSION_CODENAME"
}
