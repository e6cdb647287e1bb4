# SPDX-License-Identifier: GPL-2.0-only
# Programs on the raw ABI for the test machines; they need no library.
KSELFTEST_DIR := tests/kselftest
KSELFTEST_PROGS := $(patsubst $(KSELFTEST_DIR)/test_%.c,%,$(wildcard $(KSELFTEST_DIR)/test_*.c))
KSELFTEST_SHARED := $(call objs,$(wildcard $(KSELFTEST_DIR)/cmx_*.c))
KSELFTEST_MAIN := $(KSELFTEST_PROGS:%=$(B)/obj/$(KSELFTEST_DIR)/test_%.o)
KSELFTEST_BIN := $(KSELFTEST_PROGS:%=$(B)/tests/kselftest/%)

$(KSELFTEST_MAIN) $(KSELFTEST_SHARED): CPPFLAGS += $(shell pkg-config --cflags libdrm)
$(KSELFTEST_MAIN): CPPFLAGS += -isystem $(HARNESS)
$(KSELFTEST_MAIN): | $(HARNESS)

# Static, because fork and exec of a small program are what a test machine is slowest at.
$(KSELFTEST_BIN): $(B)/tests/kselftest/%: $(B)/obj/$(KSELFTEST_DIR)/test_%.o $(KSELFTEST_SHARED)
	@$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(if $(SAN),,-static) -o $@ $(filter %.o,$^) $(LDLIBS) -pthread

OBJS_ALL += $(KSELFTEST_MAIN) $(KSELFTEST_SHARED)
TESTS_ALL += $(KSELFTEST_BIN)
