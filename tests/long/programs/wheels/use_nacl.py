# packages: PyNaCl bcrypt
import bcrypt
from nacl.secret import SecretBox
from nacl.utils import random

box = SecretBox(random(SecretBox.KEY_SIZE))
assert box.decrypt(box.encrypt(b"snakes")) == b"snakes"
assert bcrypt.checkpw(b"word", bcrypt.hashpw(b"word", bcrypt.gensalt(4)))
