# packages: python3-jpy openjdk-17-jre-headless
# remark: a JVM in each, whose threads keep its interpreter mapped; without -XX:-UsePerfData it changes the current
# remark: folder for a moment
import jpyutil

jvm = "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"
jpyutil.init_jvm(jvm_dll=jvm, jvm_maxmem="64M", jvm_options=["-Xrs", "-XX:-UsePerfData"])
import jpy  # noqa: E402

items = jpy.get_type("java.util.ArrayList")()
for number in (3, 1, 2):
    items.add(number)
jpy.get_type("java.util.Collections").sort(items)
assert [items.get(i) for i in range(items.size())] == [1, 2, 3]
try:
    items.get(9)
    raise AssertionError("no exception")
except RuntimeError as error:
    assert "IndexOutOfBounds" in str(error)
