"""Every private name of torch that the workbench touches, with what it is for.

Nothing of torch._dynamo or torch._inductor is imported when this module is: a name is looked up
when it is used. A snapshot of each supported release says what it has of them. A missing name
raises `TorchNameMissing` (or is reported as a missing capability), never an AttributeError.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from workbench.errors import TorchNameMissing

if TYPE_CHECKING:
    import torch

_AFTER_DYNAMO = "torch._functorch._aot_autograd."
"""Imported before Dynamo, which they import and which imports them, one of them fails."""


@dataclass(frozen=True)
class Name:
    """One private name: `module:qualified.name`, why we need it, the releases it was checked on.

    `since` is the release that has it first, where older ones that are supported do without.
    """

    target: str
    used_for: str
    checked_on: str = "2.11 to 2.15"
    since: str = ""

    @property
    def module(self) -> str:
        """The module that defines it."""
        return self.target.partition(":")[0]

    @property
    def attribute(self) -> str:
        """The qualified name inside the module; empty for the module itself."""
        return self.target.partition(":")[2]

    def find(self) -> Any | None:
        """The object, or None when this release of torch does not have it."""
        try:
            if self.module.startswith(_AFTER_DYNAMO):
                importlib.import_module("torch._dynamo")
            value: Any = importlib.import_module(self.module)
            for part in self.attribute.split(".") if self.attribute else ():
                value = getattr(value, part)
        except AttributeError:
            return None
        except ImportError as error:
            is_of_torch = (error.name or "").partition(".")[0] in ("torch", "")
            if is_of_torch and "circular import" not in str(error):
                return None
            raise  # a package that torch lacks, or an order of imports: not a matter of its release
        return value

    def get(self) -> Any:
        """The object; raises `TorchNameMissing` when this release of torch does not have it."""
        value = self.find()
        if value is None:
            import torch

            raise TorchNameMissing(
                f"torch {torch.__version__} has no {self.target.replace(':', '.')}, which the "
                f"workbench needs for {self.used_for}. "
                + (f"It was added in torch {self.since}. " if self.since else "")
                + f"Use torch {self.checked_on}, which was tested, or report an issue."
            )
        return value


class _Row(Protocol):
    def __call__(self, rest: str, used_for: str, since: str = "") -> Name: ...


def _within(holder: str) -> _Row:
    """What makes the rows of a package, module or class from the rest of a target and its use."""
    return lambda rest, used_for, since="": Name(f"{holder}{rest}", used_for, since=since)


_dynamo = _within("torch._dynamo.")
_types = _within("torch._dynamo.aot_compile_types:")
_device = _within("torch._dynamo.device_interface:")
_exc = _within("torch._dynamo.exc:")
_guards = _within("torch._dynamo.guards:")
_translator = _within("torch._dynamo.symbolic_convert:InstructionTranslatorBase.")
_inductor = _within("torch._inductor.")
_codecache = _within("torch._inductor.codecache:")
_cpp = _within("torch._inductor.cpp_builder:")
_isa = _within("torch._inductor.cpu_vec_isa:")
_output = _within("torch._inductor.output_code:")
_runtime = _within("torch._inductor.runtime.")
_tuner = _within("torch._inductor.runtime.triton_heuristics:CachingAutotuner.")
_scheduler = _within("torch._inductor.scheduler:Scheduler.")
_aoti = _within("torch._C._aoti:")
_pytree = _within("torch.utils._pytree:")
_fake = _within("torch._subclasses.fake_tensor:")
_shapes = _within("torch.fx.experimental.symbolic_shapes:")
_partitioner = _within("torch._functorch.partitioners:")

DYNAMO_CONFIG = _dynamo("config:", "setting the options of Dynamo")
INDUCTOR_CONFIG = _inductor("config:", "setting the options of Inductor")
FUNCTORCH_CONFIG = Name("torch._functorch.config:", "setting the options of AOTAutograd")
RUNTIME_ESTIMATOR = _inductor(
    "custom_graph_pass:CustomRuntimeEstimator", "choosing memory budgets with a roofline model"
)

# artifacts: serializing and deserializing compiled functions
ASYNC_COMPILE_MODULE = _inductor("async_compile:", "loading the kernels of an artifact")
ASYNC_COMPILE = _inductor(
    "async_compile:AsyncCompile", "loading kernels in languages other than C++ and Triton"
)
SELECT_ALGORITHM_MODULE = _inductor("select_algorithm:", "making library calls in artifacts")
EXTERN_KERNELS = _inductor("select_algorithm:extern_kernels", "making rare library calls")
INDUCTOR_LOWERING = _inductor("lowering:", "lowering operators registered in Python")
CODECACHE_MODULE = _codecache("", "building C++ kernels")
PY_CODE_CACHE = _codecache("PyCodeCache", "finding the built C++ kernels")
CPP_BINDINGS_CACHE = _codecache("CppPythonBindingsCodeCache", "finding the built C++ kernels")
CPP_WRAPPER_CACHE = _codecache("CppWrapperCodeCache", "finding programs built in C++")
PICK_VEC_ISA = _isa("pick_vec_isa", "naming the ISA of kernels")
AOT_COMPILED_FUNCTION = _dynamo(
    "aot_compile:AOTCompiledFunction", "saving and loading compiled functions"
)
AOT_COMPILE_ARTIFACTS = _dynamo("aot_compile:CompileArtifacts", "loading artifacts")
AOT_UNPICKLER = _dynamo("aot_compile:AOTCompileUnpickler", "reading payloads")
SUPPORTED_VEC_ISAS = _isa("supported_vec_isa_list", "building kernels for another ISA")
CPP_BUILDER = _cpp("CppBuilder", "building kernels for another ISA")
CPP_BUILD_OPTIONS = _cpp("CppTorchDeviceOptions", "building kernels for another ISA")
AOT_OPEN_PAYLOAD = Name(
    "torch._dynamo.aot_compile:_open_aot_compile_payload",
    "reading the header of a file written by torch",
    "2.15",
    "2.15",
)
SERIALIZED_CODE = _dynamo("package:SerializedCode", "reading bytecode in payloads")
BUNDLED_CALLABLE = _types(
    "BundledAOTAutogradSerializableCallable", "distinguishing Inductor's artifacts from graphs"
)
DESERIALIZE_BUNDLE = Name(
    "torch._functorch._aot_autograd.aot_autograd_result:deserialize_bundled_cache_entry",
    "loading Inductor's artifacts",
)
DESERIALIZE_TRITON_KERNEL = _types(
    "_deserialize_triton_kernel", "saving and loading user-defined Triton kernels"
)
KERNEL_SIDE_TABLE = Name(
    "torch._higher_order_ops.triton_kernel_wrap:kernel_side_table",
    "saving and loading user-defined Triton kernels",
)
ASSOCIATIVE_SCAN = Name(
    "torch._higher_order_ops.associative_scan:associative_scan",
    "running a GPU-only scan eagerly on the CPU",
)
TRITON_BUNDLER = _inductor(
    "triton_bundler:TritonBundler", "saving and loading GPU kernels in artifacts"
)
SET_PTXAS_PATH = _inductor(
    "async_compile:_set_triton_ptxas_path", "compiling kernels before the program is loaded"
)
PACKED_KERNELS = _inductor(
    "async_compile:CompiledTritonKernels", "saving and loading GPU kernels in artifacts"
)
TORCH_KEY = _codecache("torch_key", "loading GPU kernels compiled by a different torch build")
CODE_HASH = _codecache("code_hash", "loading GPU kernels compiled by a different torch build")
AOT_PICKLER = _dynamo("aot_compile:AOTCompilePickler", "naming a different machine in a payload")
AOT_REDUCER = _dynamo(
    "aot_compile:AOTCompilePickler.reducer_override", "saving captured tensors that share memory"
)
GRAPH_CONSTANTS = _output("CompiledFxGraphConstants", "reading the constants of generated programs")
SELECT_DECOMP_TABLE = _inductor("decomposition:select_decomp_table", "recompiling from an artifact")
DISABLE = Name("torch._dynamo:disable", "running the backward pass of a loaded artifact")
MEMORY_PLANNING_MODULE = _inductor("codegen.memory_planning:", "aligning planned buffers")
ALIGN = _inductor("codegen.memory_planning:_align", "aligning planned buffers")
DATA_PTR_OF_TENSOR = Name(
    "torch._C._dynamo:guards._torchinductor_pyobject_tensor_data_ptr", "starting C++ kernels"
)

# Capture and AOT compilation of one function.
AOT_COMPILE_FULLGRAPH = _dynamo("aot_compile:aot_compile_fullgraph", "compiling ahead of time")
HOOKS = _dynamo("hooks:Hooks", "passing a guard filter to Dynamo")
GET_TRACED_FN = _dynamo("convert_frame:get_traced_fn", "finding the function behind a module")
COMPILE_LOCK = _dynamo("convert_frame:compile_lock", "running one compilation at a time")
INDUCTOR_WRAPPER = Name("torch:_TorchCompileInductorWrapper", "calling the Inductor backend")
BACKEND_WRAPPER = Name("torch:_TorchCompileWrapper", "calling backends other than Inductor")
# attributes of what torch.compile returns, from the outermost in; checked on torch 2.13 to 2.15
COMPILED_MODULE_CONTEXT = "dynamo_ctx"
COMPILED_CALLBACK = "callback"
CALLBACK_LINKS = ("_torchdynamo_orig_callable", "_torchdynamo_orig_backend")
LIST_MODE_OPTIONS = Name("torch._inductor:list_mode_options", "expanding a compile mode")
LIST_BACKENDS = Name("torch._dynamo:list_backends", "naming the backends that exist")
UNSUPPORTED = _exc("Unsupported", "recognising a graph break")
FLOAT_RESTART = _exc("TensorifyScalarRestartAnalysis", "retrying a capture with float arguments")
UNSERIALISABLE_GUARDS = _guards(
    "CheckFunctionManager.UNSUPPORTED_SERIALIZATION_GUARD_TYPES",
    "finding the guards that a file cannot store",
)
SERIALIZE_GUARDS = _guards(
    "CheckFunctionManager.serialize_guards", "dropping guards whose values cannot be pickled"
)
BUILD_GUARDS = _guards(
    "CheckFunctionManager.build_guards", "combining a file's guards with those of this process"
)
GUARDS_REDUCER = _guards(
    "GuardsStatePickler.reducer_override", "building the guards of code for a different GPU"
)
UNPICKLE_GUARDED_TENSOR = _guards(
    "GuardsStatePickler._unpickle_tensor", "building the guards of code for a different GPU"
)
UNSET_FAKE = _fake("unset_fake_temporarily", "building the guards of code for a different GPU")
DISPATCH_KEYS = Name("torch._C:_dispatch_keys", "building the guards of code for a different GPU")
DISPATCH_KEY = Name("torch._C:DispatchKey", "building the guards of code for a different GPU")
PRESERVE_DISPATCH_KEYS = Name("torch._C:_PreserveDispatchKeyGuard", "freeing a failed compilation")
TENSOR_TEXT = Name("torch._tensor_str:_str", "freeing a failed compilation")
GLOBAL_STATE_GUARD = Name(
    "torch._C._dynamo.guards:GlobalStateGuard",
    "checking grad mode, autocast and other global state",
)
TENSOR_GUARDS = Name("torch._C._dynamo.guards:TensorGuards", "checking tensors in one call")
FUNCTION_MODES = Name(
    "torch._C:_len_torch_function_stack", "counting the active torch function modes"
)
SET_FUNCTION_STATE = Name(
    "torch._C:_set_torch_function_state", "restoring the torch function state after a guard raises"
)
FUNCTION_STATE = Name(
    "torch._C:_TorchFunctionState", "restoring the torch function state after a guard raises"
)
DEVICE_MODULE = Name("torch.utils._device:", "reading the default device")
SET_GRAD_ENABLED = Name(
    "torch._C:_set_grad_enabled", "disabling gradients without creating an object per call"
)
MARK_DYNAMIC = Name("torch._dynamo:mark_dynamic", "marking dynamic dimensions")
MAYBE_MARK_DYNAMIC = Name("torch._dynamo:maybe_mark_dynamic", "marking dimensions with Dim.AUTO")
SUPPRESS_GUARDS = _shapes("_suppress_guards", "capturing convolutions with a dynamic batch size")
CONVOLUTION_LAYOUT = (
    Name("torch._C:_select_conv_backend", "capturing convolutions with a dynamic batch size"),
    Name(
        "torch._C:_conv_determine_backend_memory_format",
        "capturing convolutions with a dynamic batch size",
    ),
)
ADD_SOURCE = _dynamo(
    "package:SourceInfo.add_code", "deferring source-file reads in code with graph breaks"
)
SHORTEN_FILENAME = Name("torch.utils._traceback:shorten_filename", "building many guards quickly")
PICKLE_GRAPH = Name(
    "torch.fx._graph_pickler:GraphPickler.dumps", "saving graphs without their metadata"
)
ADDS_IN_CASCADES = _inductor(
    "codegen.cpp:CppKernel.need_use_acc_helper", "generating sums with any number of terms"
)

# The record of a compilation.
TRACE_LOG = Name("torch._logging._internal:trace_log", "reading the structured trace")
TRACE_STRUCTURED = Name(
    "torch._logging:trace_structured", "skipping trace entries that nothing reads"
)
INTERN_TABLE = Name("torch._logging.structured:INTERN_TABLE", "reading file names in the trace")
COMPILE_ID = Name("torch._guards:CompileId", "naming a compilation in the trace")
COMPILE_CONTEXT = Name("torch._guards:CompileContext", "naming a compilation in the trace")
IN_CONTEXT = Name("torch._guards:compile_context", "naming a compilation in the trace")
PRINT_READABLE = Name("torch.fx:GraphModule.print_readable", "printing the graph of every stage")
FX_CODEGEN = _inductor(
    "compile_fx:fx_codegen_and_compile", "distinguishing backward graphs from forward graphs"
)
JOINT_PASSES = _inductor(
    "compile_fx:_recursive_joint_graph_passes", "recording the joint graph of a training step"
)
PRE_GRAD_PASSES = _inductor("compile_fx:_recursive_pre_grad_passes", "recording passes by stage")
POST_GRAD_PASSES = _inductor("compile_fx:_recursive_post_grad_passes", "recording passes by stage")
ENTER_PASS = Name(
    "torch.fx.passes.graph_transform_observer:GraphTransformObserver.__enter__",
    "recording what each pass changed",
)
LEAVE_PASS = Name(
    "torch.fx.passes.graph_transform_observer:GraphTransformObserver.__exit__",
    "recording what each pass changed",
)
APPLY_GRAPH_PASS = Name(
    "torch.fx.passes.graph_transform_observer:GraphTransformObserver.apply_graph_pass",
    "finding the function that a pass calls",
)
APPLY_MODULE_PASS = Name(
    "torch.fx.passes.graph_transform_observer:GraphTransformObserver.apply_gm_pass",
    "finding the function that a pass calls",
)
APPLY_PATTERNS = _inductor(
    "pattern_matcher:PatternMatcherPass.apply", "finding the passes that match patterns"
)
CHOOSE_SAVED_VALUES = _partitioner(
    "choose_saved_values_set", "previewing the savings of different memory budgets"
)
SOLVE_MIN_CUT = _partitioner("solve_min_cut", "sharing partitions between memory budgets")
MINIMUM_CUT = Name("networkx:minimum_cut", "explaining why values are saved for the backward pass")
OWN_MINIMUM_CUT = _partitioner(
    "minimum_cut", "explaining why values are saved in torch's own partition", "2.15"
)
ESTIMATE_RUNTIME = _partitioner(
    "estimate_runtime", "estimating operator run times for a memory budget"
)
CPU_CAPABILITY = Name("torch.backends.cpu:get_cpu_capability", "naming the CPU's instruction set")

# The first compilation on a machine.
ISA_TRIAL = _isa("VecISA.check_build", "skipping trial compilations for an ISA")
ISA_TRIAL_CODE = _isa("VecISA._avx_code", "confirming an ISA by a trial compilation")
CPP_COMPILER = _cpp("get_cpp_compiler", "finding the C++ compiler")
COMPILER_BANNER = _cpp("get_compiler_version_info", "reading the version of the C++ compiler")
PRECOMPILE_HEADER = _codecache("_precompile_header", "building the precompiled header")
DEFAULT_CACHE_DIR = _runtime(
    "cache_dir_utils:default_cache_dir", "detecting whether a cache was chosen"
)
VIRTUALIZED = _inductor("virtualized:V", "finding the graph that is being lowered")
FLOP_FORMULAS = Name(
    "torch.utils.flop_counter:flop_registry", "counting the FLOPs of library calls"
)
LOWER_NODE = _inductor(
    "graph:GraphLowering.run_node", "recording what each operator was lowered to"
)
CALL_LOWERING = _inductor(
    "graph:GraphLowering.call_function", "recording what each operator was lowered to"
)
LOWERINGS = _inductor("lowering:lowerings", "naming lowerings")
USER_LOWERINGS = _inductor("lowering:user_lowerings", "naming user-defined lowerings", "2.12")
LOG_PRE_FUSION = _inductor("debug:log_ir_pre_fusion", "recording the scheduler nodes before fusion")
LOG_POST_FUSION = _inductor(
    "debug:log_ir_post_fusion", "recording the scheduler nodes after fusion"
)
DEAD_NODE_ELIMINATION = _scheduler("dead_node_elimination", "recording what each pass changed")
FUSE_NODES = _scheduler("fuse_nodes", "recording what each pass changed")
FINALIZE_TEMPLATES = _scheduler(
    "finalize_multi_template_buffers", "recording what each pass changed"
)
REORDER_FOR_MEMORY = _inductor("memory:reorder_for_peak_memory", "recording what each pass changed")
REORDER_FOR_OVERLAP = _inductor(
    "comms:reorder_compute_and_comm_for_overlap", "recording what each pass changed"
)
FUSE_ONCE = _scheduler("fuse_nodes_once", "counting rounds of fusion")
CAN_FUSE = _scheduler("can_fuse", "recording the pairs considered for fusion")
FUSE_TWO = _scheduler("fuse_two_nodes", "recording the pairs that were fused")
WHY_NO_FUSE = _inductor("scheduler:WhyNoFuse.__call__", "recording why pairs were not fused")
CHOICES_CAN_FUSE = _inductor(
    "choices:InductorChoices.can_fuse", "counting the bytes that two nodes share"
)
HIGHEST_PRIORITY = _scheduler(
    "get_possible_fusions_with_highest_priority", "recording pairs whose fusion was postponed"
)
SCORE_FUSION = _scheduler("score_fusion_key", "recording the fusion score of each pair")
SPEEDUP_BY_FUSION = _scheduler("speedup_by_fusion", "recording pairs whose fusion was benchmarked")
CREATE_FOREACH = _scheduler("create_foreach_nodes", "recording groups of foreach operators")
CREATE_COMBO = _scheduler("create_combo_kernel_nodes", "recording groups of combo kernels")
SHOULD_PARTITION = _scheduler("should_partition", "finding what a CUDA graph cannot contain")
GRAPH_PARTITION = _scheduler("graph_partition", "finding the partitions that become CUDA graphs")
COMPILED_FX_GRAPH_INIT = _output(
    "CompiledFxGraph.__init__", "explaining why a graph does not use CUDA graphs"
)
KERNEL_PROVENANCE = tuple(
    _inductor(
        f"{module}:set_kernel_post_grad_provenance_tracing", f"finding the FX nodes behind a {kind}"
    )
    for module, kind in (
        ("debug", "library call"),
        ("codegen.cpp", "C++ kernel"),
        ("codegen.triton", "Triton kernel"),
    )
)
DEFINE_KERNEL = _inductor(
    "codegen.wrapper:PythonWrapperCodegen.define_kernel", "recording the source of each kernel"
)
SAME_CONSTANT = _inductor("graph:is_same_tensor", "distinguishing constants without data")
AUTOTUNE_BLOCK = _inductor(
    "codegen.wrapper:PythonWrapperCodegen.generate_and_run_autotune_block",
    "packaging machine code for a GPU that this machine lacks",
)
CACHING_AUTOTUNER = _runtime(
    "triton_heuristics:CachingAutotuner", "packaging machine code for a GPU that this machine lacks"
)
OPS = Name("torch._ops:", "distinguishing an operator from a callable object")
LOG_GRAPH_BREAK = _translator("log_graph_break", "recording graph breaks")
SCALAR_LOG = _dynamo("variables.tensor:log", "silencing the log of a break that is already listed")
BREAK_REGISTRY = _exc("_load_gb_type_to_gb_id_map", "finding the ids of graph breaks")
UNCAPTURED = _exc(
    "UncapturedHigherOrderOpError", "recognising a torch.cond branch that cannot be captured"
)
USER_ERROR = _exc("UserError", "recognising a graph break")
SKIPPED_FRAME = _exc("SkipFrame", "recognising a frame with nothing to compile")
BACKEND_FALLBACKS = _exc(
    "exceptions_allowed_to_be_fallback", "recognising failures that cause a graph break"
)

# What plain torch.compile does in a running program.
COMPILE_FRAME = _dynamo("convert_frame:_compile", "recording the compilations of a running program")
ATTEMPT_FRAME = _dynamo(
    "convert_frame:CatchErrorsWrapper.__call__", "finding frames that run eagerly"
)
RECOMPILE_REASONS = _dynamo(
    "convert_frame:get_and_maybe_log_recompilation_reasons", "recording why a frame is recompiled"
)
GUARD_COMPLETE_HOOK = Name(
    "torch._C._dynamo.eval_frame:set_guard_complete_hook",
    "recording calls that match no compiled variant",
)
LAZY_BACKWARD = Name(
    "torch._functorch._aot_autograd.runtime_wrappers:_AutogradBackwardCompiler.get_or_compile",
    "recording backward passes compiled at their first call",
    since="2.12",
)
OPTIMIZATION_FLAGS = _inductor(
    "cpp_builder:_get_optimization_cflags",
    "setting the CPU's instruction-set level before torch 2.13",
)
BUFFER_HOOKS = Name(
    "torch.nn.modules.module:_global_buffer_registration_hooks",
    "removing hooks that an export leaves behind",
)
OLDER_LAZY_BACKWARD = Name(
    "torch._functorch._aot_autograd.runtime_wrappers:track_graph_compiling",
    "recording lazily compiled backward passes before torch 2.12",
)
RUNTIME_ENVIRONMENT = _dynamo(
    "convert_frame:GraphCaptureOutput.get_runtime_env",
    "saving the globals that compiled code needs",
)
BUILTINS_IN_ENVIRONMENT = _dynamo(
    "convert_frame:_safe_builtins_dict", "checking whether saved globals include builtins", "2.12"
)
GRAPH_CALL = _output("CompiledFxGraph.__call__", "recording calls of compiled graphs")
GRAPH_POST_COMPILE = _output(
    "CompiledFxGraph.post_compile", "finding which compilation a graph belongs to"
)
CURRENT_COMPILE_ID = Name(
    "torch._guards:CompileContext.current_compile_id",
    "finding which compilation a graph belongs to",
)
CUDA_GRAPH_SKIPS = tuple(
    _inductor(f"{module}:log_cudagraph_skip_and_bump_counter", "recording skipped CUDA graphs")
    for module in ("compile_fx", "output_code", "cudagraph_trees")
)

# Timing the calls of a generated program.
HIGHER_ORDER = Name("torch._ops:HigherOrderOperator", "finding what a captured graph writes to")
OPERATOR_PACKET = Name("torch._ops:OpOverloadPacket", "timing operators of a generated program")
PROFILER_IS_RUNNING = Name(
    "torch.autograd.profiler:_is_profiler_enabled", "detecting a profiler that is already running"
)
AUTOGRAD_CACHE_KEY = Name(
    "torch._functorch._aot_autograd.autograd_cache:autograd_cache_key",
    "giving a cache key to a graph that has none",
)
AUTOGRAD_CACHE_WRITE = Name(
    "torch._functorch._aot_autograd.autograd_cache:AOTAutogradCache._write_to_local_cache",
    "keeping entries that nothing can look up out of the cache",
)
SAVE_AUTOGRAD_ENTRY = Name(
    "torch._functorch._aot_autograd.autograd_cache:AOTAutogradCache.save",
    "pickling graphs when a file is written",
)
USES_AUTOGRAD_CACHE = Name(
    "torch._functorch.aot_autograd:should_use_local_autograd_cache",
    "compiling where torch's caches are off",
)
AOT_EAGER_CODE = _dynamo(
    "backends.debugging:AOTEagerOutputCode", "pickling graphs when a file is written", since="2.12"
)
AUTOGRAD_CACHE_LOOKUP = Name(
    "torch._functorch._aot_autograd.autograd_cache:AOTAutogradCache._lookup",
    "recording lookups in the AOTAutograd cache",
)
CHECK_FUNCTION_MANAGER_INIT = _guards(
    "CheckFunctionManager.__init__", "recording guards built without a filter"
)
DO_AUTOTUNING = _inductor(
    "select_algorithm:AlgorithmSelectorCache.do_autotuning", "recording benchmarked choices"
)
BENCHMARK_ALL_CONFIGS = _tuner(
    "benchmark_all_configs", "recording benchmarked Triton configurations"
)
BENCHMARK_CPU = _runtime(
    "benchmarking:Benchmarker.benchmark_cpu", "benchmarking choices on an idle machine"
)
BENCHMARK_GPU = _runtime(
    "benchmarking:InductorBenchmarker.benchmark_gpu", "benchmarking choices on an idle machine"
)
FX_GRAPH_CACHE = _codecache("FxGraphCache", "reading keys of the FX graph cache")
FX_CACHE_FOLDER = _codecache(
    "FxGraphCache._get_tmp_dir_for_key", "finding files of the FX graph cache"
)
FX_CACHE_HIT = _codecache(
    "FxGraphCache.cache_hit_post_compile", "identifying programs from the FX graph cache"
)
FX_CACHE_BYPASS = _codecache("BypassFxGraphCache", "finding graphs that the FX graph cache refuses")
FX_HASH_DETAILS = _codecache("FxGraphHashDetails", "reading the parts of an FX graph cache key")
WEAK_DEP = _inductor(
    "dependencies:WeakDep", "distinguishing a node's reads from ordering dependencies"
)
INDUCTOR_CONFIG_ENTRIES = _inductor(
    "config:_config", "finding the options that a cache key depends on"
)
COUNTERS = _dynamo("utils:counters", "restoring torch's counters and counting pattern matches")
TREE_LEAVES = _pytree("tree_leaves", "finding the tensors in nested inputs and outputs")
TREE_MAP = _pytree("tree_map", "mapping over the tensors in nested inputs")
TREE_MAP_ONLY = _pytree("tree_map_only", "copying nested inputs")
TREE_FLATTEN_WITH_PATH = _pytree("tree_flatten_with_path", "naming the inputs of a package")
TREESPEC_DUMPS = _pytree("treespec_dumps", "describing the inputs and outputs of a package")
AOTI_LOAD_PACKAGE = _inductor("package:load_package", "loading a package with torch's own loader")
AOTI_COMPILE = Name("torch._inductor:aot_compile", "compiling the library of a package")
AOT_CODE_COMPILER = _codecache(
    "AotCodeCompiler.compile", "finding the weights and constants of a package"
)
INPUT_KIND = Name("torch.export.graph_signature:InputKind", "distinguishing inputs from weights")
TRACEBACK_FRAMES = Name(
    "torch.fx.proxy:TracerBase._filter_traceback_frames",
    "finding the source lines of functions that a forward calls",
)
MKLDNN_BYTES = Name("torch:ops.mkldnn._nbytes", "reading the sizes of packed weights")
OUTPUT_KIND = Name("torch.export.graph_signature:OutputKind", "distinguishing outputs from buffers")
TREE_FLATTEN = _pytree("tree_flatten", "making inputs of different sizes")
TREE_UNFLATTEN = _pytree("tree_unflatten", "making inputs of different sizes")
DATA_DEPENDENT = _shapes("GuardOnDataDependentSymNode", "recognising code that depends on data")
CONSTRAINT_VIOLATION = _shapes(
    "ConstraintViolationError", "recognising a declared range that does not hold"
)
LOG_GUARD = _shapes("ShapeEnv._log_guard", "finding the lines that violate a declared range")
SHAPE_CONFIG = Name(
    "torch.fx.experimental._config:", "compiling packages for inputs of size 0 and 1"
)
DISPATCH_MODE = Name(
    "torch.utils._python_dispatch:TorchDispatchMode", "timing the operators of eager code"
)

# Explaining graph breaks without touching what Dynamo has compiled.
MAYBE_HAS_BACKEDGE = _translator("maybe_has_backedge", "finding breaks after a break in a loop")
INPUT_CODES = _dynamo("convert_frame:input_codes", "keeping what Dynamo has already compiled")
OUTPUT_CODES = _dynamo("convert_frame:output_codes", "keeping what Dynamo has already compiled")
CACHE_ENTRIES = _dynamo(
    "eval_frame:_debug_get_cache_entry_list", "keeping what Dynamo has already compiled"
)
RESET_CODE = _dynamo("eval_frame:reset_code", "keeping what Dynamo has already compiled")
COMPILE_PACKAGE = _dynamo("package:CompilePackage", "loading code with graph breaks from a file")
PRECOMPILE_STORE = _dynamo("package:DynamoCache.load", "recording code with graph breaks")
PRECOMPILE_CODES = _dynamo(
    "precompile_context:PrecompileContext._dynamo_cache_entries", "recording code with graph breaks"
)
PRECOMPILE_GRAPHS = _dynamo(
    "precompile_context:PrecompileContext._backend_artifacts_by_key",
    "recording code with graph breaks",
)
WRAP_VALUE = _dynamo(
    "variables.builder:VariableBuilder._wrap", "recording registries that variants read"
)
DICT_ENTRY = _dynamo(
    "variables.builder:DictSubclassGetItemSource", "recording registries that variants read"
)
DUPLICATE_GUARD = _dynamo(
    "variables.builder:make_dupe_guard", "guarding arguments that are also globals"
)
DUPLICATE_INPUT = _guards(
    "GuardBuilder.DUPLICATE_INPUT", "guarding arguments that are also globals"
)
CODE_SOURCE = _dynamo("package:_get_code_source", "recording methods of data classes")
CODE_OF_ENTRY = _dynamo("package:_lookup_code", "running frames of a loaded file eagerly")
EXEC_STRATEGY = _dynamo("types:FrameExecStrategy", "running frames of a loaded file eagerly")
PRECOMPILE_ENTRIES = Name(
    "torch._C._dynamo.eval_frame:_debug_get_precompile_entries",
    "explaining why no code in a file fits a call",
)
RUN_ONLY = Name("torch._dynamo:run", "calling code from a file without compiling")
OPTIMIZE = Name("torch._dynamo:optimize", "refusing calls that no code in a file fits")
IS_SKIPPED = _dynamo("trace_rules:check", "refusing calls that no code in a file fits")
HAS_TENSOR = _dynamo(
    "convert_frame:has_tensor_in_frame", "refusing calls that no code in a file fits"
)
FRAME_RESULT = _dynamo("types:ConvertFrameReturn", "refusing calls that no code in a file fits")
FRAME_ACTION = _dynamo("types:FrameAction", "running frames of a loaded file eagerly")
SET_EXEC_STRATEGY = _dynamo(
    "eval_frame:set_code_exec_strategy", "running frames of a loaded file eagerly"
)
PACKAGE_INSPECT = _dynamo("package:inspect", "recording code in notebook cells")
GET_COMPILER_FN = _dynamo(
    "eval_frame:get_compiler_fn", "calling code from a file without a compiler"
)
PRECOMPILE_CONTEXT = _dynamo(
    "precompile_context:PrecompileContext", "recording code with graph breaks"
)
CLEANUPS = _dynamo("utils:CleanupManager.instance", "removing the names of recorded code")
UNIQUE_NAMES = _dynamo(
    "bytecode_transformation:_unique_id_counter", "avoiding clashes with the names in a file"
)
DELETED_GUARDS = _guards("DeletedGuardManagerWrapper", "keeping what Dynamo has already compiled")
GRAPH_BREAK_REASONS = _dynamo(
    "utils:graph_break_reasons", "keeping what Dynamo has already compiled"
)
SIZES_SEEN = _dynamo("pgo:_CODE_STATE", "keeping torch's recorded sizes unchanged")
SIZES_FROM_CACHE = _dynamo("pgo:_INIT_CODE_STATE", "keeping torch's recorded sizes unchanged")
CLEANED_INSTRUCTIONS = (
    _dynamo("bytecode_transformation:cleaned_instructions", "finding breaks inside a try block"),
    _dynamo("symbolic_convert:cleaned_instructions", "finding breaks inside a try block"),
)
TRACING = Name("torch._guards:tracing", "reading guards back from a file")
TRACING_CONTEXT = Name("torch._guards:TracingContext", "reading guards back from a file")
ASYNC_SUBMIT = _inductor("async_compile:AsyncCompile.submit", "following the builds of C++ kernels")

# FX nodes behind the lines of a generated kernel.
POINTWISE_LOADER = _inductor("ir:Pointwise.make_loader", "finding the FX nodes behind kernel lines")
STORE_FUNCTION = _inductor(
    "ir:ComputedBuffer.get_store_function", "finding the FX nodes behind kernel lines"
)
NON_TENSOR_IR = _inductor(
    "ir:NonTensorObj", "recognising graph inputs that are not tensors, such as a mesh"
)
LOOP_BODY_NODE = _inductor(
    "loop_body:LightTracer.create_node", "finding the FX nodes behind kernel lines"
)
CSE_GENERATE = _inductor("codegen.common:CSE.generate", "finding the FX nodes behind kernel lines")
KERNEL_STORES = (
    _inductor("codegen.common:CSEProxy.store", "finding the FX nodes behind kernel lines"),
    _inductor(
        "codegen.common:CSEProxy.store_reduction", "finding the FX nodes behind kernel lines"
    ),
)

# A virtual GPU: what torch must believe so that it compiles for a device that is not there. The
# purpose of each row is the reason why it is replaced.
CUDA_LAZY_INIT = Name("torch.cuda:_lazy_init", "compiling without a GPU driver")
CUDA_DEVICE_GUARD = Name("torch.cuda:_DeviceGuard", "compiling without entering a real device")
CUDA_DEVICE_SWITCHES = (
    Name("torch.cuda:_exchange_device", "compiling without entering a real device"),
    Name("torch.cuda:_maybe_exchange_device", "compiling without entering a real device"),
)
CUDA_INDEX_CALLS = (  # builds without CUDA lack these; generated programs import the first
    Name(
        "torch._C:_cuda_getCurrentRawStream", "importing generated programs in builds without CUDA"
    ),
    Name("torch._C:_cuda_setDevice", "importing generated programs in builds without CUDA"),
    Name("torch._C:_cuda_getDevice", "compiling without entering a real device"),
    Name("torch._C:_cuda_exchangeDevice", "compiling without entering a real device"),
    Name("torch._C:_cuda_maybeExchangeDevice", "compiling without entering a real device"),
)
CUDA_ALLOCATOR_ENABLED = Name(
    "torch._C:_cuda_cudaCachingAllocator_is_enabled", "deciding about CUDA graphs"
)
ACCELERATOR_GENERATOR = Name(
    "torch._C:_accelerator_getDefaultGenerator",
    "recomputing random numbers for a different GPU",
    since="2.14",
)
SM_CARVEOUT = Name(
    "torch._C:_get_sm_carveout_experimental", "counting multiprocessors without a device"
)
AVOID_DEVICE_INIT = _fake(
    "FakeTensorMode.avoid_device_init",
    "creating fake tensors without allocating on a virtual device",
)
INIT_GPU_CONTEXT = _fake(
    "init_gpu_context",
    "creating fake tensors without allocating, before torch 2.13",
)
FAKE_TENSOR_MODE = _fake("FakeTensorMode", "creating example inputs")
FAKE_TENSOR = _fake("FakeTensor", "recognising fake tensors")
SHAPE_ENV = _shapes("ShapeEnv", "creating example inputs")
DEVICE_INTERFACES = _device("device_interfaces", "describing the target device to Dynamo")
DEVICE_INTERFACE_OF = _device("get_interface_for_device", "describing the target device to Dynamo")
CUDA_INTERFACE = _device("CudaInterface", "describing the target device to Dynamo")
WORKER_PROPERTIES = _device(
    "caching_worker_device_properties", "describing the target device to Inductor"
)
WORKER_DEVICES = _device(
    "caching_worker_current_devices", "describing the target device to Inductor"
)
SET_DRIVER_TO_GPU = _runtime("triton_helpers:set_driver_to_gpu", "compiling without a GPU driver")
AUTOTUNER_PRECOMPILE = _tuner("precompile", "compiling kernels without loading them on the device")
SCALE_RBLOCK = _tuner(
    "_dynamic_scale_rblock", "finding the configurations that Inductor adds to reductions"
)
COULD_SCALE_RBLOCK = _tuner(
    "_could_rblock_scale", "finding the configurations that Inductor adds to reductions", "2.13"
)
MAKE_LAUNCHERS = _tuner("_make_launchers", "compiling kernels without loading them on a device")
TRITON_CACHE_FOLDER = _runtime(
    "cache_dir_utils:triton_cache_dir", "finding the machine code of loaded kernels"
)
TRITON_HASH_KEY = _runtime(
    "runtime_utils:triton_hash_to_path_key", "finding the machine code of loaded kernels"
)
SHOULD_PAD = _inductor(
    "fx_passes.pad_mm:_should_pad", "deciding by modelled time whether to pad matmuls"
)
PADDED_LENGTH = _inductor(
    "fx_passes.pad_mm:get_padded_length", "modelling whether padding a matmul pays off"
)
PAD_ALIGNMENT = _inductor(
    "fx_passes.pad_mm:get_alignment_size", "modelling whether padding a matmul pays off"
)
PAD_IS_FREE = _inductor(
    "fx_passes.pad_mm:should_exclude_padding_time", "modelling whether padding a matmul pays off"
)
IS_COMPUTE_BOUND = _inductor(
    "fx_passes.pad_mm:is_mm_compute_bound", "modelling whether padding a matmul pays off"
)
HINT_SYMBOLS = (  # its name, and that in torch 2.11
    _inductor(
        "fx_passes.pad_mm:hint_symbols", "modelling whether padding a matmul pays off", "2.12"
    ),
    _inductor("fx_passes.pad_mm:realize_symbols", "modelling whether padding a matmul pays off"),
)
MAX_CLOCK_RATE = Name(
    "torch._utils_internal:max_clock_rate", "reading the clock rate without nvidia-smi"
)
AUTOTUNER_CONFIG = _tuner("_precompile_config", "keeping the machine code of every configuration")
MAKE_BENCHMARK_FN = _inductor(
    "select_algorithm:AlgorithmSelectorCache.make_benchmark_fn",
    "ranking templates by modelled time where nothing can be timed",
)
AUTOTUNE_LOOKUP = _codecache(
    "PersistentCache.lookup", "keeping modelled times out of the cache of measured times"
)
TEMPLATE_PRECOMPILE = _inductor(
    "select_algorithm:TritonTemplateCaller.precompile", "compiling only the template that is chosen"
)
UNIFORM_VALUE = _inductor(
    "fx_passes.joint_graph:UniformValueConstantFolder._deduce_value",
    "folding constants without computing on the device",
)
DEVICE_CACHES = tuple(  # what torch remembers about the device, forgotten before and after
    Name(f"torch.{target}", "resetting cached answers about a different device")
    for target in (
        *("utils._triton:has_triton", "utils._triton:_device_supports_tma"),
        "utils._triton:_device_supports_tensor_descriptor",  # its name since 2.15
        "utils._triton:has_triton_experimental_host_tma",
        "utils._triton:has_triton_tensor_descriptor_host_tma",
        *("utils._triton:has_triton_tma", "utils._triton:has_triton_tma_device"),
        "utils._triton:has_triton_cuda_tma_device",
        "utils._triton:has_datacenter_blackwell_tma_device",
        *("utils._triton:has_triton_stable_tma_api", "utils._triton:triton_backend"),
        "utils._triton:triton_hash_with_backend",
        *("_inductor.utils:get_gpu_type", "_inductor.utils:is_big_gpu"),
        *("_inductor.utils:get_max_num_sms", "_inductor.utils:using_b200"),
        *("_inductor.utils:get_backend_num_stages", "_inductor.utils:get_device_tflops"),
        "_inductor.utils:_get_device_tflops",  # the part that remembers, since 2.15
        *("_inductor.utils:get_gpu_dram_gbps", "_inductor.utils:_get_device_dram_gbps"),
        *("_inductor.utils:use_contiguous", "_inductor.utils:rocm_gfx_arch"),
        *("_inductor.utils:using_rocm_rdna3", "_inductor.utils:_prefers_swizzle_32_8_cached"),
        *("_inductor.kernel.mm:_is_sm7x_or_older_gpu", "cuda:_check_bf16_tensor_supported"),
        "_inductor.utils:_triton_supported_fp8_dtypes",
        "_inductor.utils:_rocm_native_device_arch_name",
        "_inductor.runtime.hints:DeviceProperties.create",
        *("_inductor.codecache:CacheBase.get_system", "_subclasses.fake_tensor:init_gpu_context"),
        *("_inductor.comm_analysis:get_gpu_type", "_inductor.comm_analysis:_has_nvlink"),
    )
)
OPERATOR_DEFINITIONS = Name(
    "torch._library.custom_ops:OPDEFS", "running user-defined operators on a virtual GPU"
)
DEFINED_OPERATORS = Name("torch.library:_defs", "sending library operators to another process")
FAKE_KERNELS = Name(
    "torch._library.simple_registry:singleton", "finding the fake functions of library operators"
)
HAS_KERNEL = Name(
    "torch._C:_dispatch_has_kernel_for_dispatch_key", "finding the kernels of a library operator"
)
DESTROY_LIBRARY = Name("torch.library:Library._destroy", "removing user-defined operators")
TRITON_OPERATORS = Name("torch._library.triton:", "identifying operators of Triton kernels")
CUSTOM_OPERATOR = {
    "name": "_qualname",
    "schema": "_schema",
    "overload": "_opoverload",
    "function": "_init_fn",
    "fake": "_abstract_fn",
    "backward": "_backward_fn",
    "setup_context": "_setup_context_fn",
    "rules": "_torch_dispatch_fns",
}
"""Attributes of `torch.library.CustomOpDef`: what an operator was made of."""
CUSTOM_OPERATOR_LIBRARY = "_lib"
DEFINED_BY_LIBRARY = "_op_defs"

# Running generated programs for a GPU on the CPU.
TRITON_HELPERS = _runtime("triton_helpers:", "interpreting device-library functions in kernels")
TRITON_COMPAT = _runtime("triton_compat:", "interpreting device-library functions in kernels")
GRID_EXPR = _runtime("triton_heuristics:GridExpr", "computing the grid of an interpreted kernel")
DYNAMO_UTILS = _dynamo("utils:", "replacing streams of a GPU that this machine lacks")
SYMPY_PRINTER = Name(
    "torch.utils._sympy.printers:PythonPrinter", "printing the index expressions of loops"
)

# running packages: nothing here imports torch._dynamo or torch._inductor
AOTI_HANDLES = _aoti("unsafe_alloc_void_ptrs_from_tensors", "passing tensors to a compiled library")
AOTI_TENSORS = _aoti(
    "alloc_tensors_by_stealing_from_void_ptrs", "receiving tensors from a compiled library"
)
AOTI_CPU_RUNNER = _aoti(
    "AOTIModelContainerRunnerCpu", "running packages with operators of other libraries"
)
AOTI_CUDA_RUNNER = Name(
    "torch._C._aoti:AOTIModelContainerRunnerCuda",
    "running packages with operators of other libraries",
    "2.13.0, absent in builds without CUDA",
)
IS_TRANSFORMED = Name(
    "torch._C._functorch:is_functorch_wrapped_tensor", "detecting tensors without data"
)
FORWARD_AD = Name(
    "torch.autograd.forward_ad:", "refusing calls that would lose forward-mode AD tangents"
)
GUARD_LOGGERS = (
    Name("torch._guards:log", "silencing the log of a guard that fails to load"),
    Name("torch._dynamo.guards:log", "silencing the log of a guard that fails to load"),
)
DISPATCH_MODES = Name(
    "torch.utils._python_dispatch:_get_current_dispatch_mode_stack",
    "naming a tracer around a call of compiled code",
)
DISPATCH_MODE_COUNT = Name(
    "torch._C:_len_torch_dispatch_stack", "detecting a tracer around a call of compiled code"
)
FUNCTION_MODE_STACK = Name(
    "torch.overrides:_get_current_function_mode_stack",
    "naming a torch function mode around a call of compiled code",
)
FUNCTORCH_INTERPRETER = Name(
    "torch._C._functorch:peek_interpreter_stack",
    "naming a transform around a call of compiled code",
)
TREE_NODES = _pytree("SUPPORTED_NODES", "reading nested inputs and outputs of a package")
TREE_TYPES = _pytree(
    "SERIALIZED_TYPE_TO_PYTHON_TYPE", "reading nested inputs and outputs of a package"
)
TREE_SERIALIZED = _pytree(
    "SUPPORTED_SERIALIZED_TYPES", "reading nested inputs and outputs of a package"
)

# one rank of a cluster: process groups under the names that graphs hold
_c10d = _within("torch.distributed.distributed_c10d:")
DISTRIBUTED_WORLD = _c10d("_world", "finding the process groups of this process by name")
NEW_PROCESS_GROUP = _c10d(
    "_new_process_group_helper", "creating a process group under a given name"
)
DYNAMO_RULES = _dynamo(
    "trace_rules:get_torch_obj_rule_map", "capturing code that uses a process group"
)
RESOLVE_PROCESS_GROUP = _c10d("_resolve_process_group", "finding a process group by name")
FAKE_STORE = Name(
    "torch.testing._internal.distributed.fake_pg:FakeStore",
    "creating process groups that send nothing",
)
COMPOSED = (
    Name(
        "torch.distributed._composable.contract:STATE_KEY",
        "copying a sharded module without its shards",
    ),
    Name(
        "torch.distributed._composable.contract:REGISTRY_KEY",
        "copying a sharded module without its shards",
    ),
)
"""Under which keys a module has what `fully_shard` and its like keep of it."""
COMPUTE_BUCKETS = Name(
    "torch.distributed:_compute_bucket_assignment_by_size",
    "computing how much DDP hooks send at a time",
)
FIRST_BUCKET = Name(
    "torch.distributed:_DEFAULT_FIRST_BUCKET_BYTES", "computing the size of DDP's first bucket"
)
MESH_CACHES = tuple(  # what is remembered by a mesh; equal meshes may be of different ranks
    Name(f"torch.distributed.tensor.{target}", "compiling a second rank of a mesh in one process")
    for target in (
        "debug:_clear_sharding_prop_cache",
        "_redistribute:clear_redistribute_planner_cache",
        "_redistribute:_gen_transform_infos.cache_clear",
    )
)
_threaded = _within("torch.testing._internal.distributed.multi_threaded_pg:")
THREADED_GROUP = _threaded(
    "ProcessLocalGroup", "running collectives between threads of this process"
)
THREADED_BARRIER = _threaded("_store_based_barrier", "creating process groups of threads")
THREADED_WORK = _threaded("ret_work", "running collectives between threads of this process")
ENTER_THREADED_GROUPS = _threaded(
    "_install_threaded_pg", "giving each thread its own process groups"
)
LEAVE_THREADED_GROUPS = _threaded(
    "_uninstall_threaded_pg", "giving each thread its own process groups"
)
WRAP_COLLECTIVE = Name(
    "torch.distributed._functional_collectives:_maybe_wrap_tensor",
    "waiting for collectives immediately",
)
WAIT_TENSOR = Name(
    "torch.distributed._functional_collectives:wait_tensor", "waiting for collectives immediately"
)
ISOLATE_GROUPS = Name(
    "torch._C._distributed_c10d:_set_thread_isolation_mode",
    "finding the process groups of a thread by name",
)
HAS_NVLINK = _inductor(
    "comm_analysis:_has_nvlink", "estimating collectives without nvidia-smi", "2.13"
)

MERGE_COLLECTIVES = _inductor(
    "fx_passes.bucketing:process_collective_bucket",
    "recording which collectives were merged into one",
)
FINISH_OVERLAP = _inductor(
    "fx_passes.overlap_preserving_bucketer:finalize_overlap_scheduling",
    "recording the overlap that torch expects of collectives",
)
REORDER_COLLECTIVES = _inductor(
    "comms:_reorder_communication_preserving_peak_memory_internal",
    "recording how far collectives were moved ahead",
)
SINK_WAITS = _inductor(
    "comms:_sink_waits_iterative_internal", "recording how far waits were delayed"
)
PIPELINE_PRODUCTS = _inductor(
    "fx_passes.post_grad:micro_pipeline_tp_pass", "finding collectives that async TP did not fuse"
)
HAS_SYMMETRIC_MEMORY = Name(
    "torch.distributed._symmetric_memory:is_symm_mem_enabled_for_group",
    "explaining why async TP did not fuse a collective",
)
SCHEDULE_OVERLAP = _inductor(
    "fx_passes.overlap_scheduling:schedule_overlap_bucketing",
    "ordering collectives by modelled time where nothing can be timed",
)
ESTIMATE_NODE = _inductor(
    "fx_passes.overlap_scheduling:estimate_roofline_runtime_ms",
    "reading torch's estimated times of operators",
    "2.12",
)
COLLECTIVE_MOVERS = {"reorder": REORDER_COLLECTIVES, "sink": SINK_WAITS}
"""The passes over scheduler nodes that move collectives, or the waits for them, and say why not."""
ESTIMATE_COLLECTIVE = _inductor(
    "comm_analysis:estimate_nccl_collective_runtime_from_fx_node",
    "reading torch's estimated time of a collective",
)

CONTROL_DEPS = "control_deps"
"""The operator that only orders another one, which is in a graph of its own, torch 2.11 to 2.15."""

DISABLED = ("_torchdynamo_disable", "_torchdynamo_disable_msg")
"""What `torch.compiler.disable` notes on a function, torch 2.11 to 2.15: that it is, and why."""


def has_comm_hook(ddp: Any) -> bool:
    """Whether a function of the user sends the gradients of a DistributedDataParallel."""
    return bool(ddp._comm_hooks)


def parameter_groups_of(module: Any) -> tuple[Any, list[Any]]:
    """What `fully_shard` keeps of a module, and its groups of parameters: one in torch 2.11."""
    state = module._get_fsdp_state()
    single = [] if state._fsdp_param_group is None else [state._fsdp_param_group]
    return state, list(getattr(state, "_fsdp_param_groups", single))


def policy_of(state: Any) -> Any:
    """The mixed precision that hooks of `fully_shard` cast to."""
    return state._mp_policy


def gathered_dtype_of(parameter: Any, group: Any) -> torch.dtype:
    """The dtype in which `fully_shard` gathers a parameter."""
    kept: torch.dtype = parameter.sharded_param.dtype
    chosen = _policy_of_parameter(parameter, group).param_dtype
    return chosen if chosen and kept.is_floating_point else kept


def reduced_dtype_of(parameter: Any, group: Any) -> torch.dtype:
    """The dtype in which `fully_shard` reduces the gradient of a parameter.

    Where `reduce_dtype` is None, it is the parameter's own since torch 2.15, that of the gathered
    parameter before.
    """
    chosen: torch.dtype | None = _policy_of_parameter(parameter, group).reduce_dtype
    if chosen is not None:
        return chosen
    if not hasattr(group, "mp_policy"):
        own: torch.dtype | None = getattr(parameter, "sharded_grad_dtype", None)
        return own or parameter.sharded_param.dtype
    return gathered_dtype_of(parameter, group)


def _policy_of_parameter(parameter: Any, group: Any) -> Any:
    """Before torch 2.15 the parameters of a group share one mixed-precision policy."""
    return group.mp_policy if hasattr(group, "mp_policy") else parameter.mp_policy


def frees_before_copies(group: Any) -> bool:
    """Whether the buffer of a gather is freed before the next is copied out: since torch 2.15."""
    return hasattr(group.comm_ctx, "release_all_gather_state_for_comm_reuse")


def keeps_parameters(state: Any) -> bool:
    """Whether the outermost module of `fully_shard` keeps its parameters after the forward.

    It does unless it was told otherwise, or is a part of a module that has run.
    """
    is_part = state._is_root is False
    return bool(getattr(state, "_auto_reshard_after_forward", True)) and not is_part


def prefetch_lists_of(state: Any) -> tuple[list[Any], list[Any]]:
    """What the user had a module gather ahead, in the forward and in the backward."""
    return list(state._states_to_forward_prefetch), list(state._states_to_backward_prefetch)


def count_reduce_buffers(group: Any) -> int:
    """How many inputs of reduce-scatters a group of `fully_shard` keeps; torch 2.11 keeps one."""
    return int(getattr(group, "reduce_scatter_max_input_buffers", 1))


def has_own_gather(parameter: Any) -> bool:
    """Whether the tensor of a parameter of `fully_shard` says itself what is gathered of it."""
    return hasattr(parameter.sharded_param._local_tensor, "fsdp_pre_all_gather")


def hook_ids_of(state: Any) -> set[int]:
    """The keys of the hooks that `fully_shard` put around the calls of modules."""
    handles = (state._pre_forward_hook_handle, state._post_forward_hook_handle)
    return {part.id for handle in handles for part in getattr(handle, "handles", (handle,))}


def forms_of_parameter(parameter: Any) -> list[Any]:
    """A parameter of `fully_shard` as a module has it: its shard, the whole after a first call."""
    whole = getattr(parameter, "_unsharded_param", None)
    return [parameter.sharded_param, *(() if whole is None else (whole,))]


ARTIFACTS = "_artifacts"
"""Where `AOTCompiledFunction` has what it was made of, torch 2.11 to 2.15."""


def artifacts_of(aot_fn: Any) -> Any:
    """Bytecode, guards, signature and backend's function of one that was compiled ahead."""
    return getattr(aot_fn, ARTIFACTS)


def storage_of(tensor: Any) -> int:
    """The address of a tensor's storage: views of one have the same."""
    return address_of(tensor.untyped_storage())


def base_of(tensor: Any) -> Any:
    """What a tensor is a view of; itself where it is none."""
    return tensor if tensor._base is None else tensor._base


def address_of(storage: Any) -> int:
    """What tells a storage from others while it lives."""
    return int(storage._cdata)


def schema_of(operator: Any) -> Any:
    """Names, types and aliases of an operator's arguments and results."""
    return operator._schema
