# packages: python3-broker
import broker

here, there = broker.Endpoint(), broker.Endpoint()
subscriber = here.make_subscriber("/test")
port = here.listen("127.0.0.1", 0)
assert port and there.peer("127.0.0.1", port)
there.publish("/test", ["word", 7])
assert subscriber.get() == ("/test", ("word", 7))
there.shutdown()
here.shutdown()
