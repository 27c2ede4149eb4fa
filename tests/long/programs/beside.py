# SPDX-License-Identifier: MIT
"""What the second interpreter does while the first runs a suite: a function for each, called again and again.

Each is given the number of the call and returns whether what it computed is right. None opens
files or depends on the directory: tests count descriptors, and change the directory of both."""


def cpython(count):
    """Text, numbers, threads, a compiled program; extension modules of the standard library."""
    import decimal
    import hashlib
    import json
    import re
    import threading
    n = 2 + count % 100
    numbers = []
    thread = threading.Thread(target=numbers.extend, args=(map(decimal.Decimal, range(n)),))
    thread.start()
    thread.join()
    text = json.dumps({str(i): [i, {"half": i / 2}] for i in range(n)})
    names = {}
    exec(compile(f"def f(x): return sum(range(x))\ntotal = f({n})", "<beside>", "exec"), names)
    piecewise = hashlib.sha256()
    for _ in range(n):
        piecewise.update(b"a")
    return (sum(numbers) == n * (n - 1) // 2 == names["total"] and len(re.findall(r'"half"', text)) == n and
            json.loads(text)[str(n - 1)][1]["half"] == (n - 1) / 2 and
            hashlib.sha256(b"a" * n).digest() == piecewise.digest())


def numpy(count):
    """Products whose values are known, in this interpreter's own numpy."""
    import numpy as np
    n = 2 + count % 60
    product = np.ones((n, n)) @ np.arange(n * n, dtype=float).reshape(n, n)
    return (product == n * np.arange(n) + n * n * (n - 1) // 2).all()


def scipy(count):
    """Linear systems, dense and sparse, a transform and an integral through a Python function."""
    import numpy as np
    from scipy import fft, integrate, linalg, sparse
    from scipy.sparse.linalg import spsolve
    n = 3 + count % 40
    matrix = np.diag(np.full(n, 3.0)) + np.diag(np.ones(n - 1), 1)
    x = np.arange(n, dtype=float)
    return (np.allclose(linalg.solve(matrix, matrix @ x), x) and
            np.allclose(spsolve(sparse.csc_matrix(matrix), matrix @ x), x) and
            np.allclose(fft.ifft(fft.fft(x)), x) and abs(integrate.quad(lambda y: y * n, 0, 2)[0] - 2 * n) < 1e-9)


def pandas(count):
    """Groups, a join and CSV there and back."""
    import io
    import pandas as pd
    n = 10 + count % 50
    frame = pd.DataFrame({"key": [i % 3 for i in range(n)], "value": range(n)})
    sums = frame.groupby("key")["value"].sum().to_dict()
    again = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
    joined = frame.merge(pd.DataFrame({"key": range(3), "name": list("abc")}), on="key")
    return sums == {k: sum(range(k, n, 3)) for k in range(3)} and again.equals(frame) and len(joined) == n


def lxml(count):
    """A document, XPath with a Python function, an error with its line."""
    from lxml import etree
    n = 2 + count % 100
    tree = etree.XML("<r>" + "<e>1</e>" * n + "</r>")
    twice = etree.XPath("f:twice(count(//e))", namespaces={"f": "urn:f"},
                        extensions={("urn:f", "twice"): lambda _, value: 2 * value})
    try:
        etree.XML("<a>\n<b></a>")
        return False
    except etree.XMLSyntaxError as error:
        return error.lineno == 2 and twice(tree) == 2 * n


def cryptography(count):
    """A signature, right and wrong, and authenticated encryption."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ed25519
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    text = b"text %d" % count
    key = ed25519.Ed25519PrivateKey.generate()
    signature = key.sign(text)
    key.public_key().verify(signature, text)
    try:
        key.public_key().verify(signature, b"other")
        return False
    except InvalidSignature:
        cipher = AESGCM(bytes(16))
        return cipher.decrypt(bytes(12), cipher.encrypt(bytes(12), text, b"head"), b"head") == text
