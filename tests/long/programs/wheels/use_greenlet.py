# packages: greenlet
import greenlet

order = []


def work():
    order.append(2)
    main.switch()
    order.append(4)
    raise KeyError("out of a greenlet")


main, other = greenlet.getcurrent(), greenlet.greenlet(work)
order.append(1)
other.switch()
order.append(3)
try:
    other.switch()
except KeyError:
    order.append(5)
assert order == [1, 2, 3, 4, 5]
