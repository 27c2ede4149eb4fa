# SPDX-License-Identifier: MIT
"""Why answers may differ; habits.Habit.excuses names these."""

from habits import Excuse, instead, without

EXCUSES = {
}
