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

# The same as 32-bit programs, where the kernel's other entry for ioctls is what is tested.
KSELFTEST_32 := abi_fields abi_size bo entries errors fork_exec launch mmap receive run timeline
KSELFTEST_32_BIN := $(KSELFTEST_32:%=$(B)/tests/kselftest32/%)
KSELFTEST_32_SHARED := $(KSELFTEST_SHARED:$(B)/obj/%.o=$(B)/obj/m32/%.o)
KSELFTEST_32_MAIN := $(KSELFTEST_32:%=$(B)/obj/m32/$(KSELFTEST_DIR)/test_%.o)

$(KSELFTEST_32_MAIN) $(KSELFTEST_32_SHARED): CPPFLAGS += $(shell pkg-config --cflags libdrm)
$(KSELFTEST_32_MAIN) $(KSELFTEST_32_SHARED): CPPFLAGS += -D_FILE_OFFSET_BITS=64
$(KSELFTEST_32_MAIN): CPPFLAGS += -isystem $(HARNESS)
$(KSELFTEST_32_MAIN): | $(HARNESS)
$(KSELFTEST_32_MAIN) $(KSELFTEST_32_SHARED): $(B)/obj/m32/%.o: %.c
	@$(call say,CC32,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -m32 $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(KSELFTEST_32_BIN): $(B)/tests/kselftest32/%: $(B)/obj/m32/$(KSELFTEST_DIR)/test_%.o \
		$(KSELFTEST_32_SHARED)
	@$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -m32 -static -o $@ $(filter %.o,$^) $(LDLIBS) -pthread

OBJS_ALL += $(KSELFTEST_MAIN) $(KSELFTEST_SHARED)
# Sanitizers come for 64 bit only.
ifneq ($(SAN),1)
OBJS_ALL += $(KSELFTEST_32_MAIN) $(KSELFTEST_32_SHARED)
TESTS_ALL += $(KSELFTEST_32_BIN)
endif
TESTS_ALL += $(KSELFTEST_BIN)
