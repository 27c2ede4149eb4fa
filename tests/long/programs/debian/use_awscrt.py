# packages: python3-awscrt
import hashlib

from awscrt import checksums, crypto, io

digest = crypto.Hash.sha256_new()
digest.update(b"gorgon")
assert digest.digest() == hashlib.sha256(b"gorgon").digest()
assert checksums.crc32c(b"123456789") == 0xE3069283
group = io.EventLoopGroup(2)
resolver = io.DefaultHostResolver(group)
bootstrap = io.ClientBootstrap(group, resolver)
done = bootstrap.shutdown_event
del bootstrap, resolver, group
assert done.wait(20)
