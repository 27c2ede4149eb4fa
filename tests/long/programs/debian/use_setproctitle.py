# packages: python3-setproctitle
# remark: the process's title is the host's; threads have names
import setproctitle

setproctitle.setthreadtitle("head")
assert setproctitle.getthreadtitle() == "head"
try:
    setproctitle.setthreadtitle(7)
except TypeError:
    pass
else:
    raise AssertionError("a number as a name")
