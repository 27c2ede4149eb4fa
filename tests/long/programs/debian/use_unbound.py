# packages: python3-unbound
import unbound

context = unbound.ub_ctx()
context.zone_add("gorgon.test.", "static")
context.data_add("head.gorgon.test. IN A 192.0.2.1")
status, result = context.resolve("head.gorgon.test")
assert status == 0 and result.havedata and result.data.address_list == ["192.0.2.1"]
answers = []


def answer(data, status, result):
    answers.append(result.data.address_list)


status, number = context.resolve_async("head.gorgon.test", None, answer)
while not answers:
    context.process()
    context.wait()
assert answers == [["192.0.2.1"]]
