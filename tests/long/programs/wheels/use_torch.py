# packages: torch
import torch

torch.manual_seed(1)
x = torch.linspace(-1, 1, 64).reshape(-1, 1)
model = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(150):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), x * x)
    loss.backward()
    optimizer.step()
assert loss.item() < 0.01, loss
w = torch.tensor([3.0], requires_grad=True)
(w ** 3).sum().backward()
assert w.grad.item() == 27
assert torch.allclose(torch.linalg.solve(torch.eye(5) * 2, torch.ones(5)), torch.full((5,), 0.5))
assert torch.jit.script(model)(x).shape == (64, 1)
