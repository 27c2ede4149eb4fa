# SPDX-License-Identifier: MIT
"""ssl: a TLS handshake over a socket pair with a certificate of our own, and one that is refused.

self_signed.pem: openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 36500 -nodes
-subj /CN=gorgon.test -addext subjectAltName=DNS:gorgon.test -keyout key.pem -out cert.pem; cat key.pem cert.pem"""

import rounds

rounds.begin()

import hashlib  # noqa: E402
import os  # noqa: E402
import socket  # noqa: E402
import ssl  # noqa: E402
import threading  # noqa: E402

PEM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "self_signed.pem")
asked = []


def serve(connection):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    context.sni_callback = lambda sock, name, ctx: asked.append(name)
    try:
        with context.wrap_socket(connection, server_side=True) as tls:
            data = b""
            while len(data) < 100_000:
                data += tls.recv(65536)
            tls.sendall(hashlib.sha256(data).digest())
    except ssl.SSLError:
        connection.close()


def talk(name):
    ours, theirs = socket.socketpair()
    server = threading.Thread(target=serve, args=(theirs,))
    server.start()
    try:
        context = ssl.create_default_context(cafile=PEM)
        with context.wrap_socket(ours, server_hostname=name) as tls:
            tls.sendall(bytes(range(100)) * 1000)
            return tls.version(), tls.recv(32)
    finally:
        ours.close()
        server.join()


assert talk("gorgon.test") == ("TLSv1.3", hashlib.sha256(bytes(range(100)) * 1000).digest())
try:
    talk("other.test")
    raise AssertionError("a certificate for another name was accepted")
except ssl.SSLCertVerificationError as error:
    assert "other.test" in error.verify_message
assert asked == ["gorgon.test", "other.test"]
rounds.done()
