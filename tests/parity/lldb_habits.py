HABITS = []
