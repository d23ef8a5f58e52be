"""LLVM's part: passes over modules in textual form, and machine code in this process."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from shaderc_tool.verify.air_cpu.errors import AirCpuError

if TYPE_CHECKING:
    from llvmlite.binding import ExecutionEngine, ModuleRef, TargetMachine

# Register allocation of very large functions takes minutes; above this many characters of IR the fast one is used.
LARGE: Final = 1_500_000


@functools.cache
def _initialise() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()


def _new_machine(level: int = 2) -> TargetMachine:
    """A description of this processor. An engine takes possession of the one it is made with."""
    import llvmlite.binding as llvm

    _initialise()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=level, jit=True
    )


@functools.cache
def _shared_machine() -> TargetMachine:
    return _new_machine()


@contextlib.contextmanager
def _parsed(text: str) -> Iterator[ModuleRef]:
    """A module in a context of its own. Both go at the end, in this order, which garbage collection would not keep."""
    import llvmlite.binding as llvm

    machine = _shared_machine()
    context = llvm.create_context()
    try:
        module = llvm.parse_assembly(text, context=context)
        try:
            module.verify()
            module.triple = machine.triple
            module.data_layout = str(machine.target_data)
            yield module
        finally:
            module.close()
    except RuntimeError as error:
        raise AirCpuError(
            "the lowered module is not valid LLVM IR", cause=str(error).strip(), fix="report this kernel"
        ) from error
    finally:
        context.close()


def _run_passes(module: ModuleRef, level: int, *, unroll: bool) -> None:
    import llvmlite.binding as llvm

    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = unroll
    builder = llvm.create_pass_builder(_shared_machine(), options)
    builder.getModulePassManager().run(module, builder)


def optimised(text: str) -> str:
    """A module after LLVM's standard passes: functions inlined, loops unrolled, private arrays in registers."""
    with _parsed(text) as module:
        _run_passes(module, 2, unroll=True)
        return str(module)


def machine_code(text: str, symbols: Sequence[str]) -> tuple[ExecutionEngine, dict[str, int]]:
    """Compile a module; gives its owner and the addresses of symbols. The IR is dropped, the code stays."""
    import llvmlite.binding as llvm

    with _parsed(text) as module:
        large = len(text) > LARGE
        _run_passes(module, 1 if large else 2, unroll=False)
        engine = llvm.create_mcjit_compiler(module, _new_machine(0 if large else 2))
        engine.finalize_object()
        engine.run_static_constructors()
        addresses = {name: engine.get_global_value_address(name) for name in symbols}
        engine.remove_module(module)
    return engine, addresses
