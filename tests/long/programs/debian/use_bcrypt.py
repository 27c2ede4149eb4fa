# packages: python3-bcrypt
import threading

import bcrypt

salt = b"$2b$04$abcdefghijklmnopqrstuu"
hashed = bcrypt.hashpw(b"password", salt)
assert hashed.startswith(salt) and bcrypt.checkpw(b"password", hashed) and not bcrypt.checkpw(b"other", hashed)
found = []
threads = [threading.Thread(target=lambda: found.append(bcrypt.hashpw(b"password", salt))) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert found == [hashed] * 3 and len(bcrypt.kdf(b"password", b"salt", 32, 10, True)) == 32
try:
    bcrypt.hashpw(b"password", b"nonsense")
except ValueError as error:
    assert "salt" in str(error), error
else:
    raise AssertionError("hashed with a salt that is none")
