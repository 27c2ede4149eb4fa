# packages: python3-gccjit
# options: --share libgccjit.so* --share libisl.so* --share libgmp.so* --share libmpc.so*
# options: --share libmpfr.so* --share libz.so* --share libzstd.so*
# remark: the compiler changes the environment, under a lock that must be one for all
import ctypes

import gccjit

context = gccjit.Context()
number = context.get_type(gccjit.TypeKind.INT)
parameter = context.new_param(number, b"i")
function = context.new_function(gccjit.FunctionKind.EXPORTED, number, b"square", [parameter])
block = function.new_block(b"entry")
block.end_with_return(context.new_binary_op(gccjit.BinaryOp.MULT, number, parameter, parameter))
result = context.compile()
square = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(result.get_code(b"square"))
assert square(12) == 144
