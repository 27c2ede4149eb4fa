# packages: python3-confluent-kafka
from confluent_kafka import KafkaException, Producer

failures = []
producer = Producer({"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 50, "log_level": 0,
                     "error_cb": lambda error: None})
producer.produce("topic", b"value", callback=lambda error, message: failures.append(error.name()))
assert producer.flush(20) == 0 and failures == ["_MSG_TIMED_OUT"], failures
try:
    Producer({"no such option": 1})
    raise AssertionError("no exception")
except KafkaException as error:
    assert "no such option" in str(error)
