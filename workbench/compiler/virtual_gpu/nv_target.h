// What the headers of CUDA ask of <nv/target>, which Triton leaves out: always the code of the host.
#pragma once
#define NV_IS_HOST 1
#define NV_IS_DEVICE 0
#define NV_PROVIDES_SM_53 0
#define NV_PROVIDES_SM_60 0
#define NV_PROVIDES_SM_70 0
#define NV_PROVIDES_SM_75 0
#define NV_PROVIDES_SM_80 0
#define NV_PROVIDES_SM_89 0
#define NV_PROVIDES_SM_90 0
#define NV_PROVIDES_SM_100 0

// a block without the parentheses that it may stand in
#define WORKBENCH_KEEP_WORKBENCH_BARE
#define WORKBENCH_BARE(...) WORKBENCH_BARE __VA_ARGS__
#define WORKBENCH_PASTE(...) WORKBENCH_KEEP_##__VA_ARGS__
#define WORKBENCH_PASTED(...) WORKBENCH_PASTE(__VA_ARGS__)
#define WORKBENCH_BLOCK(block) WORKBENCH_PASTED(WORKBENCH_BARE block)

#define WORKBENCH_CHOOSE_0(yes, no) WORKBENCH_BLOCK(no)
#define WORKBENCH_CHOOSE_1(yes, no) WORKBENCH_BLOCK(yes)
#define WORKBENCH_CHOOSE(which, yes, no) WORKBENCH_CHOOSE_##which(yes, no)
#define WORKBENCH_CHOSEN(which, yes, no) WORKBENCH_CHOOSE(which, yes, no)

#define NV_IF_ELSE_TARGET(condition, yes, no) WORKBENCH_CHOSEN(condition, yes, no)
#define NV_IF_TARGET(condition, yes, ...) WORKBENCH_CHOSEN(condition, yes, ())
