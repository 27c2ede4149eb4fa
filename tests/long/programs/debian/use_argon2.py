# packages: python3-argon2
import argon2
import argon2.low_level

hashed = argon2.low_level.hash_secret(b"password", b"somesalt", 1, 64, 2, 16, argon2.low_level.Type.ID)
assert hashed.startswith(b"$argon2id$v=19$m=64,t=1,p=2$c29tZXNhbHQ$")
assert argon2.low_level.verify_secret(hashed, b"password", argon2.low_level.Type.ID)
try:
    argon2.PasswordHasher().verify(hashed, "other")
except argon2.exceptions.VerifyMismatchError:
    pass
else:
    raise AssertionError("verified another password")
