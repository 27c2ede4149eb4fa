# SPDX-License-Identifier: MIT
"""Dataclasses, enums and exceptions of the program cross in both directions."""

import dataclasses
import enum
from concurrent.futures import ProcessPoolExecutor


class State(enum.Enum):
    NEW = "new"
    DONE = "done"


class Refused(Exception):
    def __init__(self, job, why):
        super().__init__(job, why)
        self.job, self.why = job, why


@dataclasses.dataclass
class Job:
    number: int
    state: State = State.NEW
    notes: list = dataclasses.field(default_factory=list)

    def run(self):
        if self.number == 2:
            raise Refused(self, "two")
        return dataclasses.replace(self, state=State.DONE, notes=[*self.notes, f"ran {self.number}"])


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        for future in [pool.submit(Job(i, notes=["made"]).run) for i in range(4)]:
            try:
                job = future.result()
                print(job, job.state is State.DONE)
            except Refused as error:
                print("refused", error.job, error.why)
