# packages: python3-thinc
import numpy
import thinc.api
from thinc.backends import numpy_ops

ops = numpy_ops.NumpyOps()
assert ops.gemm(numpy.ones((2, 3), "f"), numpy.ones((3, 4), "f")).tolist() == [[3.0] * 4] * 2
model = thinc.api.chain(thinc.api.Relu(16), thinc.api.Softmax(2))
inputs = numpy.random.default_rng(0).random((200, 2), dtype="f")
wanted = numpy.eye(2, dtype="f")[(inputs[:, 0] > inputs[:, 1]).astype(int)]
thinc.api.fix_random_seed(0)
model.initialize(X=inputs, Y=wanted)
optimizer = thinc.api.Adam(0.05)
for _ in range(150):
    outputs, backward = model.begin_update(inputs)
    backward((outputs - wanted) / len(inputs))
    model.finish_update(optimizer)
assert (outputs.argmax(1) == wanted.argmax(1)).mean() > 0.95
