# packages: python3-coverage
import runpy
import tempfile

import coverage

folder = tempfile.mkdtemp(dir=".")
with open(f"{folder}/measured.py", "w") as file:
    file.write("def f(x):\n    if x:\n        return 1\n    return 2\n\n\nf(1)\n")
measure = coverage.Coverage(data_file=None, branch=True, include="*measured.py")
measure.start()
runpy.run_path(f"{folder}/measured.py")
measure.stop()
assert measure._collector.tracer_name() == "CTracer"
_, lines, missing, _ = measure.analysis(f"{folder}/measured.py")
assert missing == [4], (lines, missing)
