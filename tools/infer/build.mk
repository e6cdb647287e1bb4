# SPDX-License-Identifier: GPL-2.0-only
#
# cmx infer: the model engine and its NPU kernels.
#
# Every kernel source is compiled once per SIMD level. What a level computes is written down in
# its source: no contraction into FMA, nothing that lets the compiler reorder arithmetic.

INFER_DIR := tools/infer
INFER_SRCS := $(sort $(wildcard $(INFER_DIR)/*.c))
INFER_OBJS := $(call objs,$(INFER_SRCS) $(INFER_DIR)/kernels/cmx_isa.c \
	$(INFER_DIR)/kernels/cmx_f64math.c $(INFER_DIR)/kernels/cmx_kernel_clock.c \
	$(INFER_DIR)/kernels/cmx_npu_cost.c $(INFER_DIR)/kernels/cmx_npu_grid.c \
	$(INFER_DIR)/kernels/cmx_panel.c $(INFER_DIR)/kernels/cmx_i8.c)

INFER_LEVEL_SRCS := $(sort $(wildcard $(INFER_DIR)/kernels/cmx_k_*.c)) \
	$(INFER_DIR)/kernels/cmx_gemm.c $(INFER_DIR)/kernels/cmx_gemm_i8.c \
	$(INFER_DIR)/kernels/cmx_npu_table.c $(INFER_DIR)/kernels/cmx_npu_entry.c
INFER_LEVELS := scalar
ifneq ($(filter x86_64%,$(shell $(CC) -dumpmachine)),)
INFER_LEVELS += sse2 avx2 avx512
endif
INFER_LEVEL_scalar := -DCMX_LEVEL=0
ifeq ($(SAN),1)
# Inlined, the checks of sixteen lanes at every step take the compiler minutes.
INFER_LEVEL_scalar += -fno-inline
endif
INFER_LEVEL_sse2 := -DCMX_LEVEL=1
INFER_LEVEL_avx2 := -DCMX_LEVEL=2 -mavx2 -mfma -mf16c
INFER_LEVEL_avx512 := -DCMX_LEVEL=3 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma \
	-mf16c -mprefer-vector-width=512
INFER_FP := -ffp-contract=off -fno-math-errno

infer_level_objs = $(INFER_LEVEL_SRCS:%.c=$(B)/obj/%.$(1).o)
INFER_LEVEL_OBJS := $(foreach l,$(INFER_LEVELS),$(call infer_level_objs,$(l)))

CMX_OBJS += $(INFER_OBJS) $(INFER_LEVEL_OBJS)
CMX_COMMANDS += infer

$(INFER_OBJS) $(INFER_LEVEL_OBJS): CFLAGS += $(INFER_FP)

define infer_level_rule
$(call infer_level_objs,$(1)): CFLAGS += $(INFER_LEVEL_$(1))
$(call infer_level_objs,$(1)): $(B)/obj/%.$(1).o: %.c
	@$$(call say,CC,'$$< ($(1))')
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CPPFLAGS) $$(CFLAGS) -MMD -MP -c -o $$@ $$<
endef
$(foreach l,$(INFER_LEVELS),$(eval $(call infer_level_rule,$(l))))
