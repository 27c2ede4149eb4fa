# packages: python3-cassandra
from cassandra import cmurmur3, deserializers, murmur3
from cassandra.cluster import Cluster  # noqa: F401
from cassandra.cqltypes import Int32Type

assert cmurmur3.murmur3(b"123") == murmur3._murmur3(b"123") == -7468325962851647638
assert deserializers.find_deserializer(Int32Type)
