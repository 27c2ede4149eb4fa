# SPDX-License-Identifier: MIT
"""torch: tensor operations, automatic differentiation, a Python autograd function, a small model that learns."""

import rounds

rounds.begin()

import torch  # noqa: E402

x = torch.arange(6.0).reshape(2, 3)
assert (x @ x.T).tolist() == [[5.0, 14.0], [14.0, 50.0]]
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(w ** 3).sum().backward()
assert w.grad.tolist() == [3.0, 12.0, 27.0]


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(context, value):
        return 2 * value

    @staticmethod
    def backward(context, gradient):
        return 2 * gradient


v = torch.ones(4, requires_grad=True)
Twice.apply(v).sum().backward()
assert v.grad.tolist() == [2.0] * 4
try:
    torch.ones(2, 3) @ torch.ones(2, 3)
    raise AssertionError("wrong shapes were multiplied")
except RuntimeError as error:
    assert "cannot be multiplied" in str(error)

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = torch.randn(64, 3)
wanted = (data.sum(dim=1, keepdim=True) > 0).float()
losses = []
for _ in range(60):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(data), wanted)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] / 3, losses
rounds.done()
