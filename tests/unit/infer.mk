# SPDX-License-Identifier: GPL-2.0-only
#
# Unit tests of the model engine. No device: host_die.c stands in for one.
UNIT_INFER_PROGS := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/infer_*.c)))
UNIT_INFER_OBJS := $(UNIT_INFER_PROGS:%=$(B)/obj/tests/unit/%.o)
UNIT_INFER_HELP := $(call objs,tests/unit/gguf_make.c tests/unit/hf_make.c \
	tests/unit/host_die.c tests/unit/host_exchange.c tests/unit/model_run.c)
UNIT_INFER_BINS := $(UNIT_INFER_PROGS:%=$(B)/tests/unit/%)
# The engine without what needs the driver library, and the writer of the test models.
UNIT_INFER_ENGINE := $(filter-out %/cmx_die.o %/cmx_machine.o %/cmx_exchange.o %/cmx_infer.o %/cmx_infer_run.o \
	%/cmx_infer_outputs.o \
	%/cmx_infer_ppl.o %/cmx_infer_quantize.o %/cmx_infer_bench.o \
	$(B)/obj/tools/infer/kernels/cmx_npu_entry.%,$(INFER_OBJS) $(INFER_LEVEL_OBJS))
UNIT_INFER_ENGINE += $(call objs,tools/cmx/cmx_stop.c)
UNIT_INFER_MODELS := $(filter-out %/cmx_tinymoe.o,$(call objs,$(wildcard tests/models/*.c)))

$(UNIT_INFER_OBJS) $(UNIT_INFER_HELP): CPPFLAGS += $(CMXDRV_CPPFLAGS) -Itools/infer -Itests/models \
	-isystem $(HARNESS)
$(UNIT_INFER_OBJS) $(UNIT_INFER_HELP) $(UNIT_INFER_MODELS): CFLAGS += -ffp-contract=off
$(UNIT_INFER_OBJS): | $(HARNESS)

$(UNIT_INFER_BINS): private LDLIBS += -ljansson -lm
$(UNIT_INFER_BINS): $(B)/tests/unit/%: $(B)/obj/tests/unit/%.o $(UNIT_INFER_HELP) \
	$(UNIT_INFER_ENGINE) $(UNIT_INFER_MODELS)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

# The AVX-512 kernels on any machine with AVX2: the same tests over the same sources, with SIMDe
# in the place of the instructions.
ifneq ($(filter avx512,$(INFER_LEVELS)),)
UNIT_SIMDE_BINS := $(addprefix $(B)/tests/unit/simde_,infer_kernels infer_attention infer_forward \
	infer_int8 infer_ends)
UNIT_SIMDE_OBJS := $(INFER_LEVEL_SRCS:%.c=$(B)/obj/simde/%.o) \
	$(B)/obj/simde/$(INFER_DIR)/kernels/cmx_isa.o
UNIT_SIMDE_OBJS := $(filter-out %/cmx_npu_entry.o,$(UNIT_SIMDE_OBJS))

$(UNIT_SIMDE_OBJS): CPPFLAGS += -DCMX_SIMDE -Itests/unit
$(UNIT_SIMDE_OBJS): CFLAGS += $(INFER_FP) -DCMX_LEVEL=3 -mavx2 -mfma -mf16c -Wno-psabi
$(UNIT_SIMDE_OBJS): $(B)/obj/simde/%.o: %.c
	@$(call say,CC,'$< (SIMDe)')
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(UNIT_SIMDE_BINS): private LDLIBS += -ljansson -lm
$(UNIT_SIMDE_BINS): $(B)/tests/unit/simde_%: $(B)/obj/tests/unit/%.o $(UNIT_INFER_HELP) \
	$(filter-out %.avx512.o %/cmx_isa.o,$(UNIT_INFER_ENGINE)) $(UNIT_SIMDE_OBJS) \
	$(UNIT_INFER_MODELS)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

OBJS_ALL += $(UNIT_SIMDE_OBJS)
ifneq ($(SAN),1)
TESTS_ALL += $(UNIT_SIMDE_BINS)
endif
endif

OBJS_ALL += $(UNIT_INFER_OBJS) $(UNIT_INFER_HELP) $(UNIT_INFER_MODELS)
TESTS_ALL += $(UNIT_INFER_BINS)
