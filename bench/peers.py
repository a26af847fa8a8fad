#!/usr/bin/env python3
"""The workloads in PyTorch and in JAX, timed when asked.

    peers.py torch|jax [cpu|cuda]

The first line it prints says which version answers, or that there is none. Each line that it
reads is a request, and is answered by one line:

    {"workload": "W3", "sizes": [1048576], "repeat": 6, "inner": 1}
    {"workload": "W6", "sizes": [128, 784, 512, 512, 10], "memory_of_steps": 20}
"""

import ctypes
import importlib
import json
import os
import sys
import time

WARM_UP = 5


class Torch:
    """Each workload is a method that returns what one call computes, without arguments."""

    def __init__(self, device):
        self.torch = torch = importlib.import_module("torch")
        self.device = device
        torch.set_num_threads(os.cpu_count())
        torch.manual_seed(0)
        if device == "cuda" and not torch.cuda.is_available():
            raise ImportError("no CUDA")
        self.version = f"PyTorch {torch.__version__}"

    def ready(self, _result):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def uniform(self, *shape, low=0.0, high=1.0):
        return self.torch.rand(*shape, device=self.device) * (high - low) + low

    def zeros(self, *shape):
        return self.torch.zeros(*shape, device=self.device)

    def labels(self, count, classes):
        return self.torch.arange(count, device=self.device) % classes

    def adam(self, parameters):
        return self.torch.optim.Adam(parameters, lr=1e-3)

    def sgd(self, parameters):
        return self.torch.optim.SGD(parameters, lr=1e-2)

    def training(self, parameters, loss, optimizer):
        parameters = [parameter.requires_grad_() for parameter in parameters]
        optimizer = optimizer(parameters)

        def step():
            optimizer.zero_grad()
            value = loss()
            value.backward()
            optimizer.step()
            return value.detach()

        return step

    def perceptron(self, widths):
        layers = [(self.uniform(rows, columns, low=-0.05, high=0.05), self.zeros(columns))
                  for rows, columns in zip(widths, widths[1:])]

        def forward(x):
            for weights, bias in layers[:-1]:
                x = self.torch.relu(x @ weights + bias)
            weights, bias = layers[-1]
            return x @ weights + bias

        return forward, [tensor for layer in layers for tensor in layer]

    def perceptron_training(self, batch, widths, optimizer):
        forward, parameters = self.perceptron(widths)
        x, labels = self.uniform(batch, widths[0]), self.labels(batch, widths[-1])
        cross_entropy = self.torch.nn.functional.cross_entropy
        return self.training(parameters, lambda: cross_entropy(forward(x), labels), optimizer)

    def w1(self, size):
        x = self.uniform(size)
        return lambda: x + 1

    def w2(self, size):
        a, b = self.uniform(size, size), self.uniform(size, size)
        return lambda: a @ b

    def w3(self, size):
        torch, x = self.torch, self.uniform(size)

        def chain():
            s = torch.sigmoid(x * 2 + 1)
            return (torch.tanh(s * x) + s).exp().sum()

        return chain

    def w4(self, rows, columns):
        functional, x = self.torch.nn.functional, self.uniform(rows, columns)
        return lambda: functional.layer_norm(functional.softmax(x, -1), (columns,))

    def w5(self, batch, *widths):
        return self.perceptron_training(batch, widths, self.adam)

    def w6(self, batch, *widths):
        return self.perceptron_training(batch, widths, self.sgd)

    def w7(self, batch, side, channels_1, channels_2, classes):
        torch, nn, functional = self.torch, self.torch.nn, self.torch.nn.functional
        conv_1 = nn.Conv2d(1, channels_1, 3, padding=1, device=self.device)
        conv_2 = nn.Conv2d(channels_1, channels_2, 3, padding=1, device=self.device)
        dense = nn.Linear(channels_2 * (side // 4) ** 2, classes, device=self.device)
        x, labels = self.uniform(batch, 1, side, side), self.labels(batch, classes)

        def loss():
            z = functional.max_pool2d(torch.relu(conv_1(x)), 2)
            z = functional.max_pool2d(torch.relu(conv_2(z)), 2)
            return functional.cross_entropy(dense(z.flatten(1)), labels)

        parameters = [*conv_1.parameters(), *conv_2.parameters(), *dense.parameters()]
        return self.training(parameters, loss, self.adam)

    def w8(self, batch, length, width, heads):
        block = self.torch.nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, batch_first=True, activation="gelu",
            device=self.device)
        x = self.uniform(batch, length, width)
        return self.training(list(block.parameters()), lambda: block(x).square().mean(), self.sgd)

    def w9(self, batch, steps, width, hidden):
        lstm = self.torch.nn.LSTM(width, hidden, batch_first=True, device=self.device)
        x = self.uniform(batch, steps, width)
        return self.torch.no_grad()(lambda: lstm(x)[0])

    def w10(self, batch, *widths):
        forward, _parameters = self.perceptron(widths)
        x = self.uniform(batch, widths[0])
        return self.torch.no_grad()(lambda: forward(x))


class Jax:
    """As Torch. Whatever is computed is one compiled function."""

    def __init__(self, device):
        os.environ["JAX_PLATFORMS"] = device
        self.jax = jax = importlib.import_module("jax")
        self.np = importlib.import_module("jax.numpy")
        jax.devices()
        self.version = f"JAX {jax.__version__}"
        self.keys = iter(jax.random.split(jax.random.key(0), 1000))

    def ready(self, result):
        self.jax.block_until_ready(result)

    def uniform(self, *shape, low=0.0, high=1.0):
        return self.jax.random.uniform(next(self.keys), shape, minval=low, maxval=high)

    def labels(self, count, classes):
        return self.np.arange(count) % classes

    def compiled(self, function, *arguments):
        function = self.jax.jit(function)
        return lambda: function(*arguments)

    def training(self, parameters, loss, update):
        zeros = self.jax.tree.map(self.np.zeros_like, parameters)
        state = (parameters, zeros, zeros, self.np.zeros(()))

        @self.jax.jit
        def step(state):
            value, gradients = self.jax.value_and_grad(loss)(state[0])
            return value, update(state, gradients)

        return Training(step, state)

    def sgd(self, state, gradients):
        parameters, *rest = state
        return self.jax.tree.map(lambda p, g: p - 1e-2 * g, parameters, gradients), *rest

    def adam(self, state, gradients):
        np, each = self.np, self.jax.tree.map
        parameters, means, variances, step = state
        step = step + 1
        means = each(lambda m, g: 0.9 * m + 0.1 * g, means, gradients)
        variances = each(lambda v, g: 0.999 * v + 0.001 * g * g, variances, gradients)

        def update(parameter, mean, variance):
            mean, variance = mean / (1 - 0.9**step), variance / (1 - 0.999**step)
            return parameter - 1e-3 * mean / (np.sqrt(variance) + 1e-8)

        return each(update, parameters, means, variances), means, variances, step

    def cross_entropy(self, logits, labels):
        logarithms = self.jax.nn.log_softmax(logits)
        return -self.np.mean(self.np.take_along_axis(logarithms, labels[:, None], 1))

    def normalize(self, x):
        centered = x - x.mean(-1, keepdims=True)
        return centered * self.jax.lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5)

    def perceptron(self, widths):
        return [(self.uniform(rows, columns, low=-0.05, high=0.05), self.np.zeros(columns))
                for rows, columns in zip(widths, widths[1:])]

    def forward(self, layers, x):
        for weights, bias in layers[:-1]:
            x = self.jax.nn.relu(x @ weights + bias)
        weights, bias = layers[-1]
        return x @ weights + bias

    def perceptron_training(self, batch, widths, update):
        x, labels = self.uniform(batch, widths[0]), self.labels(batch, widths[-1])
        loss = lambda layers: self.cross_entropy(self.forward(layers, x), labels)
        return self.training(self.perceptron(widths), loss, update)

    def w1(self, size):
        return self.compiled(lambda x: x + 1, self.uniform(size))

    def w2(self, size):
        return self.compiled(lambda a, b: a @ b, self.uniform(size, size), self.uniform(size, size))

    def w3(self, size):
        np = self.np

        def chain(x):
            s = self.jax.nn.sigmoid(x * 2 + 1)
            return np.exp(np.tanh(s * x) + s).sum()

        return self.compiled(chain, self.uniform(size))

    def w4(self, rows, columns):
        function = lambda x: self.normalize(self.jax.nn.softmax(x, -1))
        return self.compiled(function, self.uniform(rows, columns))

    def w5(self, batch, *widths):
        return self.perceptron_training(batch, widths, self.adam)

    def w6(self, batch, *widths):
        return self.perceptron_training(batch, widths, self.sgd)

    def w7(self, batch, side, channels_1, channels_2, classes):
        np, lax, relu = self.np, self.jax.lax, self.jax.nn.relu
        x, labels = self.uniform(batch, 1, side, side), self.labels(batch, classes)

        def convolution(x, kernel, bias):
            return lax.conv_general_dilated(x, kernel, (1, 1), "SAME") + bias[:, None, None]

        def pool(x):
            window = (1, 1, 2, 2)
            return lax.reduce_window(x, -np.inf, lax.max, window, window, "VALID")

        def loss(parameters):
            kernel_1, bias_1, kernel_2, bias_2, weights, bias = parameters
            z = pool(relu(convolution(x, kernel_1, bias_1)))
            z = pool(relu(convolution(z, kernel_2, bias_2)))
            return self.cross_entropy(z.reshape(batch, -1) @ weights + bias, labels)

        features = channels_2 * (side // 4) ** 2
        parameters = [
            self.uniform(channels_1, 1, 3, 3, high=0.1), np.zeros(channels_1),
            self.uniform(channels_2, channels_1, 3, 3, high=0.1), np.zeros(channels_2),
            self.uniform(features, classes, high=0.01), np.zeros(classes),
        ]
        return self.training(parameters, loss, self.adam)

    def w8(self, batch, length, width, heads):
        np, nn = self.np, self.jax.nn
        x = self.uniform(batch, length, width)

        def dense(x, layer):
            weights, bias = layer
            return x @ weights + bias

        def split_heads(x):
            return x.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)

        def loss(parameters):
            query, key, value, output, up, down, scale_1, shift_1, scale_2, shift_2 = parameters
            q, k, v = [split_heads(dense(x, layer)) for layer in (query, key, value)]
            weights = nn.softmax(q @ k.transpose(0, 1, 3, 2) / (width // heads) ** 0.5, -1)
            attention = (weights @ v).transpose(0, 2, 1, 3).reshape(batch, length, width)
            y = self.normalize(x + dense(attention, output)) * scale_1 + shift_1
            forward = dense(nn.gelu(dense(y, up), approximate=False), down)
            return ((self.normalize(y + forward) * scale_2 + shift_2) ** 2).mean()

        layer = lambda rows, columns: (self.uniform(rows, columns, high=0.05), np.zeros(columns))
        parameters = [layer(width, width) for _ in range(4)]
        parameters += [layer(width, 4 * width), layer(4 * width, width)]
        parameters += [np.ones(width), np.zeros(width)] * 2
        return self.training(parameters, loss, self.sgd)

    def w9(self, batch, steps, width, hidden):
        np, nn = self.np, self.jax.nn

        def lstm(x, input_weights, hidden_weights, bias):
            def cell(state, x):
                h, c = state
                i, f, g, o = np.split(x @ input_weights + h @ hidden_weights + bias, 4, -1)
                c = nn.sigmoid(f) * c + nn.sigmoid(i) * np.tanh(g)
                h = nn.sigmoid(o) * np.tanh(c)
                return (h, c), h

            zeros = np.zeros((batch, hidden))
            return self.jax.lax.scan(cell, (zeros, zeros), x.transpose(1, 0, 2))[1]

        return self.compiled(
            lstm, self.uniform(batch, steps, width), self.uniform(width, 4 * hidden, high=0.1),
            self.uniform(hidden, 4 * hidden, high=0.1), np.zeros(4 * hidden))

    def w10(self, batch, *widths):
        return self.compiled(self.forward, self.perceptron(widths), self.uniform(batch, widths[0]))


class Training:
    """Steps of a compiled function that each take the state of the one before."""

    def __init__(self, step, state):
        self.step, self.state = step, state

    def __call__(self):
        loss, self.state = self.step(self.state)
        return loss

    def compile(self):
        self.step = self.step.lower(self.state).compile()


def milliseconds(peer, call, count=1):
    """What one of count calls takes, until the last result is there."""
    start = time.perf_counter()
    for _ in range(count):
        result = call()
    peer.ready(result)
    return (time.perf_counter() - start) / count * 1e3


def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def growth_of_memory(peer, step, count):
    """Bytes of resident memory that steps need on top of what was there before the first."""
    peer.ready(step.state)
    step.compile()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # The peak starts over.
    before = status("VmRSS")
    for _ in range(count):
        peer.ready(step())
    return status("VmHWM") - before


def serve(peer):
    name, call = None, None
    for line in sys.stdin:
        request = json.loads(line)
        answer = {}
        if request["workload"] != name:
            name, call = request["workload"], None
            call = getattr(peer, name.lower())(*request["sizes"])
            if "repeat" in request:
                answer["first"] = milliseconds(peer, call)
                milliseconds(peer, call, WARM_UP)
        if "memory_of_steps" in request:
            answer["bytes"] = growth_of_memory(peer, call, request["memory_of_steps"])
        else:
            milliseconds(peer, call, request["inner"])
            answer["times"] = [
                milliseconds(peer, call, request["inner"]) for _ in range(request["repeat"])
            ]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    try:
        chosen = {"torch": Torch, "jax": Jax}[sys.argv[1]](*(sys.argv[2:] or ["cpu"]))
    except (ImportError, RuntimeError) as error:
        print(json.dumps({"missing": str(error)}), flush=True)
    else:
        print(json.dumps({"version": chosen.version}), flush=True)
        serve(chosen)
