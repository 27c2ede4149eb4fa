# packages: python3-torch
import tempfile
import threading

import torch

folder = tempfile.mkdtemp(dir=".")
torch.manual_seed(0)
torch.set_num_threads(2)
x = torch.arange(6.0, requires_grad=True).reshape(2, 3)
x.retain_grad()
(x @ x.T).sum().backward()
assert x.grad.tolist() == [[6.0, 10.0, 14.0]] * 2, x.grad
model = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), 0.02)
inputs = torch.linspace(-1, 1, 64).unsqueeze(1)
for _ in range(200):
    optimizer.zero_grad()
    loss = ((model(inputs) - inputs**2) ** 2).mean()
    loss.backward()
    optimizer.step()
assert loss.item() < 0.01, loss.item()
script = torch.jit.script(torch.nn.ReLU())
assert script(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
results = []
thread = threading.Thread(target=lambda: results.append((torch.ones(500, 500) @ torch.ones(500, 500)).sum().item()))
thread.start()
thread.join()
assert results == [500.0**3]
try:
    torch.ones(2, 3) @ torch.ones(2, 3)
except RuntimeError as error:
    assert "mat1 and mat2" in str(error), error
else:
    raise AssertionError("multiplied what does not fit")
torch.save(model.state_dict(), folder + "/model")
assert torch.load(folder + "/model").keys() == model.state_dict().keys()
