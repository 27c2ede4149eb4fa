# packages: torch
# remark: DataLoader without workers, in four threads at once
from concurrent.futures import ThreadPoolExecutor
import torch
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.arange(96.0).reshape(32, 3), torch.arange(32))


def read(_):
    total, weight = 0.0, torch.ones(3, requires_grad=True)
    for rows, _numbers in DataLoader(data, batch_size=5, shuffle=True, num_workers=0):
        (rows @ weight).sum().backward()
        total += rows.sum().item()
    return total, weight.grad.sum().item()


with ThreadPoolExecutor(4) as pool:
    assert list(pool.map(read, range(8))) == [(4560.0, 4560.0)] * 8
