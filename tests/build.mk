# SPDX-License-Identifier: GPL-2.0-only
# The unit tests run with sanitizers too; programs for the machines and benches do not.
-include tests/unit/build.mk
ifneq ($(SAN),1)
-include tests/kselftest/build.mk
-include tests/lib/build.mk
-include tests/netlink/build.mk
-include tests/tools/build.mk
-include tests/models/build.mk
-include tests/infer/build.mk
-include tests/bench/build.mk
-include tests/trace/build.mk
-include tests/fabric/build.mk
endif
