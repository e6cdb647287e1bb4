#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Every public header compiles alone, as C and as C++, and with the strictest sensible
# warnings; what the headers declare is what the library exports.
set -u
cd "$(dirname "$0")/../.." || exit 1
lib=${1:-build/lib/libcmxdrv.so}
headers=(libcmxdrv/include/cmx/*.h)
includes=(-Iuapi -Ilibcmxdrv/include)
read -ra drm < <(pkg-config --cflags libdrm)
number=0 failed=0

result()	# status name
{
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number $2"
	else
		failed=1
		echo "not ok $number $2"
	fi
}

compile()	# compiler standard language header
{
	echo "#include <cmx/$(basename "$4")>" |
		"$1" "-std=$2" -Wall -Wextra -Werror -Wshadow -Wcast-qual -Wconversion -Wpedantic \
			"${includes[@]}" "${drm[@]}" -x "$3" -fsyntax-only - 2>&1 | sed 's/^/# /'
	return "${PIPESTATUS[1]}"
}

echo "TAP version 13"
echo "1..$((4 * ${#headers[@]} + 2))"
for header in "${headers[@]}"; do
	for std in c11 gnu17; do
		compile "${CC:-gcc}" "$std" c "$header"
		result $? "$(basename "$header") as $std"
	done
	for std in c++11 c++20; do
		compile "${CXX:-g++}" "$std" c++ "$header"
		result $? "$(basename "$header") as $std"
	done
done

exported=$(nm -D --defined-only --with-symbol-versions "$lib" | awk '$2 == "T" { print $3 }' | sort)
unversioned=$(grep -v '@@CMXDRV_1\.0$' <<<"$exported")
[ -n "$exported" ] && [ -z "$unversioned" ]
result $? "every symbol has the version CMXDRV_1.0 ${unversioned//$'\n'/ }"

# A function of the library that the headers do not declare cannot be used, and the other
# way round cannot be linked.
declared=$("${CC:-gcc}" "${includes[@]}" "${drm[@]}" -aux-info /dev/stdout -fsyntax-only \
	-x c libcmxdrv/include/cmx/cmx.h |
	sed -n 's/.* extern .*\b\(cmx_[a-z0-9_]*\) (.*/\1/p' | sort -u)
differ=$(diff <(echo "$declared") <(echo "${exported//@@CMXDRV_1.0/}" | grep '^cmx_'))
[ -n "$declared" ] && [ -z "$differ" ]
result $? "declared and exported are the same ${differ//$'\n'/ }"
exit $failed
