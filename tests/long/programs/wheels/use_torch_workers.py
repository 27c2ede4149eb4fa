# packages: torch
# remark: DataLoader with two worker processes
import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, i):
        return torch.tensor([i * i]), torch.utils.data.get_worker_info().id


seen = list(DataLoader(Squares(), batch_size=4, num_workers=2))
assert sorted(int(n) for numbers, _ in seen for n in numbers) == [i * i for i in range(24)]
assert {int(worker) for _, workers in seen for worker in workers} == {0, 1}
