# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# How a kernel is built from a source tree. This file is part of the cache key: keep what does
# not change the result out of it.

# recipe_build ARCH SOURCE OBJDIR TARGETS FRAGMENT...
recipe_build()
{
	local arch=$1 src=$2 obj=$3 targets=$4 missing
	shift 4

	mkdir -p "$obj"
	cat "$@" >"$obj/fragment"
	if ! cmp -s "$obj/fragment" "$obj/fragment.used"; then
		make -C "$src" ARCH="$arch" O="$obj" KCONFIG_ALLCONFIG="$obj/fragment" allnoconfig
		# A later assignment wins over an earlier one; what did not take is an error.
		missing=$(awk -F= '/^CONFIG_/ { want[$1] = $0 }
			END { for (k in want) print want[k] }' "$obj/fragment" |
			grep -vxF -f "$obj/.config") || :
		if [ -n "$missing" ]; then
			printf 'configuration not taken:\n%s\n' "$missing"
			return 1
		fi
		cp "$obj/fragment" "$obj/fragment.used"
	fi
	# shellcheck disable=SC2086
	make -C "$src" ARCH="$arch" O="$obj" -j"$(nproc)" KCFLAGS=-Wno-error $targets
}
