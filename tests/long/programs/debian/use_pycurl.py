# packages: python3-pycurl
import io
import os
import tempfile

import pycurl

folder = tempfile.mkdtemp(dir=".")
with open(folder + "/text", "w") as file:
    file.write("gorgon\n" * 1000)
for _ in range(3):
    written, progress = io.BytesIO(), []
    curl = pycurl.Curl()
    curl.setopt(pycurl.URL, "file://" + os.path.abspath(folder + "/text"))
    curl.setopt(pycurl.WRITEFUNCTION, written.write)
    curl.setopt(pycurl.NOPROGRESS, False)
    curl.setopt(pycurl.XFERINFOFUNCTION, lambda *args: progress.append(args))
    curl.perform()
    assert written.getvalue() == b"gorgon\n" * 1000 and progress
    curl.close()
share = pycurl.CurlShare()
share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
curl = pycurl.Curl()
curl.setopt(pycurl.SHARE, share)
curl.setopt(pycurl.URL, "http://127.0.0.1:1/")
try:
    curl.perform()
except pycurl.error as error:
    assert error.args[0] == pycurl.E_COULDNT_CONNECT, error
else:
    raise AssertionError("connected to nobody")
