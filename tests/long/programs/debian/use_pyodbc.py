# packages: python3-pyodbc
import pyodbc

assert pyodbc.version and pyodbc.drivers() is not None
try:
    pyodbc.connect("DRIVER={missing}")
except pyodbc.Error as error:
    assert error.args[0] == "01000" and "missing" in error.args[1], error
else:
    raise AssertionError("connected to nothing")
