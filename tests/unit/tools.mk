# SPDX-License-Identifier: GPL-2.0-only
#
# Unit tests of the cmx command's parts about the fabric. No module: fake_fabric.c stands in
# for the library.
UNIT_TOOLS_PROGS := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/tools_*.c)))
UNIT_TOOLS_OBJS := $(UNIT_TOOLS_PROGS:%=$(B)/obj/tests/unit/%.o)
UNIT_TOOLS_HELP := $(call objs,tests/unit/fake_fabric.c tests/unit/run_command.c)
UNIT_TOOLS_BINS := $(UNIT_TOOLS_PROGS:%=$(B)/tests/unit/%)
UNIT_TOOLS_CMX := $(call objs,$(sort $(wildcard $(addprefix tools/cmx/cmx_,amount.c argument.c \
	counters*.c heat.c json_output.c link*.c monitor*.c output_file.c part*.c ranges.c smi*.c \
	snapshot.c stdout.c stop.c svg.c topo*.c))))

$(UNIT_TOOLS_OBJS) $(UNIT_TOOLS_HELP): CPPFLAGS += $(CMXDRV_CPPFLAGS) -Itools/cmx \
	-isystem $(HARNESS)
$(UNIT_TOOLS_OBJS): | $(HARNESS)

$(UNIT_TOOLS_BINS): private LDLIBS += -ljansson -lm
$(UNIT_TOOLS_BINS): $(B)/tests/unit/%: $(B)/obj/tests/unit/%.o $(UNIT_TOOLS_HELP) \
	$(UNIT_TOOLS_CMX)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

OBJS_ALL += $(UNIT_TOOLS_OBJS) $(UNIT_TOOLS_HELP)
TESTS_ALL += $(UNIT_TOOLS_BINS)
