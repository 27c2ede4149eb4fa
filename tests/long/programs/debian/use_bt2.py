# packages: python3-bt2
import bt2

assert bt2.find_plugin("utils").filter_component_classes["muxer"].name == "muxer"
value = bt2.create_value({"a": [1, 2.5, None]})
assert value["a"][1] == 2.5 and value == {"a": [1, 2.5, None]}


class Iterator(bt2._UserMessageIterator):
    def __init__(self, config, port):
        kind, stream_class = port.user_data
        stream = kind(stream_class)
        self.messages = [self._create_stream_beginning_message(stream), self._create_stream_end_message(stream)]

    def __next__(self):
        if not self.messages:
            raise StopIteration
        return self.messages.pop(0)


class Source(bt2._UserSourceComponent, message_iterator_class=Iterator):
    def __init__(self, config, params, obj):
        trace_class = self._create_trace_class()
        stream_class = trace_class.create_stream_class()
        self._add_output_port("out", (trace_class().create_stream, stream_class))


seen = [type(message).__name__ for message in bt2.TraceCollectionMessageIterator(bt2.ComponentSpec(Source))]
assert seen == ["_StreamBeginningMessageConst", "_StreamEndMessageConst"], seen
