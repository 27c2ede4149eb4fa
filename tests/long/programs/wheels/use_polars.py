# packages: polars-runtime-32
import polars

frame = polars.DataFrame({"k": ["a", "b", "a", "c"] * 500, "v": range(2000)})
found = frame.lazy().group_by("k").agg(polars.col("v").sum()).sort("k").collect()
assert found["k"].to_list() == ["a", "b", "c"] and found["v"].sum() == 1999000
assert frame.filter(polars.col("v").map_elements(lambda v: v % 1000 == 0, return_dtype=polars.Boolean)).height == 2
