# packages: python3-greenlet
import greenlet

order = []
other = greenlet.greenlet(lambda: (order.append(2), main.switch(), order.append(4)))
main = greenlet.getcurrent()
order.append(1)
other.switch()
order.append(3)
other.switch()
assert order == [1, 2, 3, 4], order
