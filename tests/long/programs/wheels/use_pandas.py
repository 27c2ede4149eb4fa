# packages: pandas
import io
import pandas

frame = pandas.read_csv(io.StringIO("day,city,n\n2026-11-01,Ulm,1\n2026-11-02,Ulm,2\n2026-11-02,Bonn,5\n"), parse_dates=["day"])
assert frame.groupby("city")["n"].sum().to_dict() == {"Bonn": 5, "Ulm": 3}
assert frame.set_index("day")["n"].resample("D").sum().tolist() == [1, 7]
