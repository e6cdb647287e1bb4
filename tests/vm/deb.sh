# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Packages of suites the system is not set up for: own source list, lists and cache, so the
# system's apt configuration stays as it is. The archive's address and key are the system's own.

# deb_archive: "URI KEYRING" of the entry that offers the running release.
deb_archive()
{
	local code

	code=$(debian_codename)
	{
		cat /etc/apt/sources.list.d/*.sources 2>/dev/null || :
		printf '\n'
		# One-line entries in the same form.
		cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
			awk '$1 == "deb" {
				key = ""
				if (match($0, /signed-by=[^] ]+/))
					key = substr($0, RSTART + 10, RLENGTH - 10)
				sub(/\[[^]]*\]/, "")
				print "URIs: " $2 "\nSuites: " $3 "\nSigned-By: " key "\n"
			}' || :
	} | awk -v code="$code" '
		function flush() {
			if (hit && uri != "") {
				print uri, (key == "" ? "-" : key)
				exit
			}
		}
		/^[ \t]*$/ { flush(); uri = key = ""; hit = 0; next }
		/^Enabled: *no/ { uri = ""; hit = 0 }
		/^URIs:/ { uri = $2 }
		/^Signed-By:/ { key = $2 }
		/^Suites:/ { for (i = 2; i <= NF; i++) if ($i == code) hit = 1 }
		END { flush() }' | head -n 1
}

# deb_suite SUITE: prepare private apt state for SUITE, set DEB_OPTS for apt-get and apt-cache.
deb_suite()
{
	local suite=$1 dir=$CACHE/apt/$1 uri key

	read -r uri key < <(deb_archive) ||
		die "no apt source of this machine offers $(debian_codename)"
	[ "$key" != - ] && [ -n "$key" ] || key=/usr/share/keyrings/debian-archive-keyring.gpg
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	: >"$dir/status"
	printf 'deb [signed-by=%s] %s %s main\n' "$key" "$uri" "$suite" >"$dir/sources.list"
	DEB_OPTS=(-o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o "Dir::State::Lists=$dir/lists" -o "Dir::Cache=$dir/cache"
		-o "Dir::State::status=$dir/status" -o APT::Sandbox::User=root
		-o APT::Get::List-Cleanup=false -q)
	# Lists younger than an hour are taken as they are: several kernels share a suite.
	if [ -z "$(find "$dir/lists" -maxdepth 1 -name '*Packages*' -mmin -60 2>/dev/null)" ]; then
		apt-get "${DEB_OPTS[@]}" update >"$dir/update.log" 2>&1 ||
			{ cat "$dir/update.log" >&2; die "apt-get update failed for $suite"; }
		find "$dir/lists" -maxdepth 1 -name '*Packages*' -exec touch {} +
	fi
}

# deb_newest REGEX: the highest-versioned package name matching, or fail with what is offered.
deb_newest()
{
	local names found

	names=$(apt-cache "${DEB_OPTS[@]}" pkgnames linux- | sort -V)
	found=$(grep -xE "$1" <<<"$names" | tail -n 1) || :
	if [ -z "$found" ]; then
		note "no package matches $1; offered:"
		grep -E '^linux-(source|image-amd64|headers-amd64)' <<<"$names" >&2 || :
		die "the suite does not offer what is needed"
	fi
	printf '%s\n' "$found"
}

# deb_meta PACKAGE: the versioned package of the same kind a meta package depends on.
deb_meta()
{
	local dep

	dep=$(apt-cache "${DEB_OPTS[@]}" depends "$1" 2>/dev/null |
		awk -v kind="${1%-amd64}-" '
			$1 == "Depends:" && index($2, kind) == 1 { print $2; exit }')
	[ -n "$dep" ] || { deb_newest "$1" >/dev/null; die "$1 names no versioned package"; }
	printf '%s\n' "$dep"
}

# deb_version PACKAGE
deb_version()
{
	apt-cache "${DEB_OPTS[@]}" show --no-all-versions "$1" |
		awk '$1 == "Version:" && !n++ { print $2 }'
}

# deb_unpack DIR PACKAGE...: download and unpack, never install.
deb_unpack()
{
	local dir=$1 tmp deb

	shift
	tmp=$(mktemp -d "$CACHE/apt/get.XXXXXX")
	(cd "$tmp" && apt-get "${DEB_OPTS[@]}" download "$@") >"$tmp/log" 2>&1 ||
		{ cat "$tmp/log" >&2; rm -rf "$tmp"; die "cannot download: $*"; }
	mkdir -p "$dir"
	for deb in "$tmp"/*.deb; do
		dpkg-deb -x "$deb" "$dir"
	done
	rm -rf "$tmp"
}
