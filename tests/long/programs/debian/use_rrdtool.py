# packages: python3-rrdtool
import tempfile

import rrdtool

folder = tempfile.mkdtemp(dir=".")
rrdtool.create(folder + "/a.rrd", "--start", "1000000000", "--step", "1", "DS:x:GAUGE:10:U:U", "RRA:AVERAGE:0.5:1:100")
rrdtool.update(folder + "/a.rrd", *[f"{1000000000 + i}:{i * 2}" for i in range(1, 50)])
window = ("-s", "1000000010", "-e", "1000000012")
(start, end, step), names, rows = rrdtool.fetch(folder + "/a.rrd", "AVERAGE", *window)
assert step == 1 and names == ("x",) and rows[0] == (22.0,), (start, rows)
assert rrdtool.info(folder + "/a.rrd")["ds[x].type"] == "GAUGE"
size = rrdtool.graph(folder + "/a.png", *window, f"DEF:v={folder}/a.rrd:x:AVERAGE", "LINE1:v#ff0000")
assert size[0] > 100
try:
    rrdtool.info("missing.rrd")
except rrdtool.OperationalError as error:
    assert "missing.rrd" in str(error), error
else:
    raise AssertionError("read a missing file")
