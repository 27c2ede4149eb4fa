# packages: python3-llvmlite
import ctypes

import llvmlite.binding as llvm
from llvmlite import ir

llvm.initialize()
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
module = ir.Module("gorgon")
function = ir.Function(module, ir.FunctionType(ir.IntType(64), [ir.IntType(64)]), "twice")
builder = ir.IRBuilder(function.append_basic_block())
builder.ret(builder.mul(function.args[0], ir.Constant(ir.IntType(64), 2)))
parsed = llvm.parse_assembly(str(module))
parsed.verify()
target = llvm.Target.from_default_triple().create_target_machine()
assert "twice" in target.emit_assembly(parsed)
with llvm.create_mcjit_compiler(parsed, target) as engine:
    engine.finalize_object()
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("twice"))(21) == 42
try:
    llvm.parse_assembly("nonsense")
except RuntimeError as error:
    assert "parsing error" in str(error), error
else:
    raise AssertionError("parsed nonsense")
