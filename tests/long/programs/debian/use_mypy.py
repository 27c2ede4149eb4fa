# packages: python3-mypy
import tempfile

import mypy.api
import mypy.nodes

folder = tempfile.mkdtemp(dir=".")
assert mypy.nodes.__file__.endswith(".so"), mypy.nodes.__file__
with open(folder + "/program.py", "w") as file:
    file.write("def f(x: int) -> str:\n    return x\n")
output, errors, status = mypy.api.run(["--no-incremental", folder + "/program.py"])
assert status == 1 and "program.py:2: error: Incompatible return value type" in output, (output, errors)
