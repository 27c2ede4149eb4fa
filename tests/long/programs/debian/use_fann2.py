# packages: python3-fann2
from fann2 import libfann

network = libfann.neural_net()
network.create_standard_array((2, 4, 1))
network.set_activation_function_hidden(libfann.SIGMOID_SYMMETRIC)
network.set_activation_function_output(libfann.SIGMOID_SYMMETRIC)
data = libfann.training_data()
data.set_train_data([[-1, -1], [-1, 1], [1, -1], [1, 1]], [[-1], [1], [1], [-1]])
for attempt in range(20):
    network.randomize_weights(-1, 1)
    network.train_on_data(data, 1000, 0, 0.001)
    if network.test_data(data) < 0.01:
        break
assert network.run([1, -1])[0] > 0.5 > network.run([1, 1])[0]
