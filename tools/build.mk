# SPDX-License-Identifier: GPL-2.0-only
#
# The cmx command. An area with sub-commands of its own (tools/infer) has a build.mk that
# adds its objects to CMX_OBJS, what they are linked with to CMX_LIBS, and its sub-commands'
# names to CMX_COMMANDS (for NAME there is a function cmx_NAME_main in the objects).

CMX_SRCS := $(sort $(wildcard tools/cmx/*.c))
CMX_OBJS := $(call objs,$(CMX_SRCS))
CMX_LIBS := -ljansson
CMX_COMMANDS := info
CMX_BIN := $(B)/bin/cmx

-include tools/infer/build.mk

OBJS_ALL += $(CMX_OBJS)
TOOLS_ALL += $(CMX_BIN)

$(CMX_OBJS): CPPFLAGS += $(CMXDRV_CPPFLAGS) -Itools/cmx
$(B)/obj/tools/cmx/cmx.o: CPPFLAGS += $(CMX_COMMANDS:%=-DCMX_COMMAND_%)
$(B)/obj/tools/cmx/cmx.o: $(wildcard tools/*/build.mk)

$(CMX_BIN): private LDLIBS += -L$(B)/lib -lcmxdrv $(CMX_LIBS) -lm -lpthread
$(CMX_BIN): $(CMX_OBJS) $(LIBCMXDRV_SO)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)
