# packages: python3-onnx
import onnx
from onnx import TensorProto, checker, helper, shape_inference

node = helper.make_node("MatMul", ["x", "y"], ["z"])
kinds = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
         for name, shape in (("x", [2, 3]), ("y", [3, 4]), ("z", ["a", "b"]))]
model = helper.make_model(helper.make_graph([node], "graph", kinds[:2], kinds[2:]))
checker.check_model(model)
model.graph.output[0].type.tensor_type.ClearField("shape")
shape = shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape
assert [dim.dim_value for dim in shape.dim] == [2, 4], shape
node = helper.make_node("NoSuchOperator", ["x"], ["z"])
broken = helper.make_model(helper.make_graph([node], "graph", kinds[:1], kinds[2:]))
try:
    checker.check_model(broken)
except checker.ValidationError as error:
    assert "NoSuchOperator" in str(error), error
else:
    raise AssertionError("an unknown operator passed")
assert len(onnx.defs.get_all_schemas()) > 100
