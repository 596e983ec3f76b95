#!/usr/bin/env python3
"""Training states of networks on images frozen from PyTorch, to check Weft against.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch==2.13.0 numpy
    /tmp/golden/bin/python tests/golden/make_golden_dense.py        # writes dense-*.npz beside this script

lenet and resnet-20 as dense/net/zoo.c writes them, written out here with torch.nn.functional alone, in float64. Ten
steps of SGD (lr 0.001, Nesterov momentum 0.9, weight decay 5e-4 on matrices and kernels, none on biases and norms), each on
a batch of its own of 16 images; batch norm with PyTorch's epsilon and momentum. Pixels, labels and initial parameters
follow from rule(), so that no file holds them. loss.smoothed: of the same steps with label_smoothing=0.1.
"""
import os

import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, IMAGES, CLASSES, SAMPLES = 10, 16, 10, 16
LR, MOMENTUM, DECAY, SMOOTHING = 0.001, 0.9, 5e-4, 0.1


def rule(stream, count):
    """`count` numbers from -1 to 1: a hash of (stream, position)."""
    h = (np.arange(count, dtype=np.uint64) * 2654435761 + stream * 40503 + 12345).astype(np.uint32)
    with np.errstate(over="ignore"):
        h ^= h >> np.uint32(16)
        h *= np.uint32(0x7FEB352D)
        h ^= h >> np.uint32(15)
        h *= np.uint32(0x846CA68B)
        h ^= h >> np.uint32(16)
    return h.astype(np.float64) / 2.0**31 - 1.0


def batch(step, size, channels):
    """NHWC by the rule; the label moves the mean of a stripe, so that there is something to learn."""
    pixels = rule(1000 + step, IMAGES * size * size * channels).reshape(IMAGES, size, size, channels)
    labels = (np.arange(IMAGES) * 7 + step * 3) % CLASSES
    for n, label in enumerate(labels):
        pixels[n, 2 * label : 2 * label + 3] += 1.0
    return torch.tensor(pixels).permute(0, 3, 1, 2).contiguous(), torch.tensor(labels)


class Net:
    """Parameters by name, in the order in which Weft declares them."""

    def __init__(self):
        self.parameters, self.state, self.number = {}, {}, 0

    def draw(self, name, shape, spread, base=0.0):
        count = int(np.prod(shape))
        value = torch.tensor(base + spread * rule(self.number, count).reshape(shape), requires_grad=True)
        self.parameters[name] = value
        self.number += 1

    def conv(self, name, out, channels, kernel, bias):
        self.draw(name + ".weight", (out, channels, kernel, kernel), (6.0 / (channels * kernel**2)) ** 0.5)
        if bias:
            self.draw(name + ".bias", (out,), 0.1)

    def linear(self, name, out, inputs):
        self.draw(name + ".weight", (out, inputs), (1.0 / inputs) ** 0.5)
        self.draw(name + ".bias", (out,), 0.1)

    def norm(self, name, width):
        self.draw(name + ".weight", (width,), 0.1, 1.0)
        self.draw(name + ".bias", (width,), 0.1)
        self.state[name + ".running_mean"] = torch.zeros(width, dtype=torch.float64)
        self.state[name + ".running_var"] = torch.ones(width, dtype=torch.float64)

    def run_conv(self, name, x, stride=1, pad=0):
        p = self.parameters
        return F.conv2d(x, p[name + ".weight"], p.get(name + ".bias"), stride=stride, padding=pad)

    def run_norm(self, name, x):
        p, s = self.parameters, self.state
        return F.batch_norm(x, s[name + ".running_mean"], s[name + ".running_var"], p[name + ".weight"],
                            p[name + ".bias"], training=True)

    def run_linear(self, name, x):
        return F.linear(x.flatten(1), self.parameters[name + ".weight"], self.parameters[name + ".bias"])


class Lenet(Net):
    size, channels = 28, 1

    def __init__(self):
        super().__init__()
        self.conv("conv1", 20, 1, 5, True)
        self.conv("conv2", 50, 20, 5, True)
        self.linear("fc1", 500, 800)
        self.linear("fc2", CLASSES, 500)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.run_conv("conv1", x)), 2)
        x = F.max_pool2d(F.relu(self.run_conv("conv2", x)), 2)
        return self.run_linear("fc2", F.relu(self.run_linear("fc1", x)))


class Resnet20(Net):
    size, channels = 32, 3

    def __init__(self):
        super().__init__()
        self.conv("conv1", 16, 3, 3, False)
        self.norm("bn1", 16)
        self.blocks, width = [], 16
        for stage in range(3):
            for block in range(3):
                name, out = f"layer{stage + 1}.{block}", 16 << stage
                self.conv(name + ".conv1", out, width, 3, False)
                self.norm(name + ".bn1", out)
                self.conv(name + ".conv2", out, out, 3, False)
                self.norm(name + ".bn2", out)
                self.blocks.append((name, width, out))
                width = out
        self.linear("linear", CLASSES, 64)

    def forward(self, x):
        x = F.relu(self.run_norm("bn1", self.run_conv("conv1", x, pad=1)))
        for name, width, out in self.blocks:
            stride = 1 if width == out else 2
            shortcut = x if stride == 1 else F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, (out - width) // 2, (out - width) // 2))
            y = F.relu(self.run_norm(name + ".bn1", self.run_conv(name + ".conv1", x, stride, 1)))
            x = F.relu(self.run_norm(name + ".bn2", self.run_conv(name + ".conv2", y, 1, 1)) + shortcut)
        return self.run_linear("linear", x.mean((2, 3)))


def train(net, smoothing=0.0):
    velocity, losses, first = {}, [], None
    for step in range(STEPS):
        pixels, labels = batch(step, net.size, net.channels)
        logits = net.forward(pixels)
        loss = F.cross_entropy(logits, labels, label_smoothing=smoothing)
        first = logits.detach().numpy() if first is None else first
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, list(net.parameters.values()))
        with torch.no_grad():
            for (name, value), g in zip(net.parameters.items(), gradients):
                g = g + DECAY * value if value.dim() > 1 else g
                v = velocity[name] = MOMENTUM * velocity[name] + g if name in velocity else g.clone()
                value -= LR * (g + MOMENTUM * v)
    return first, losses


def main():
    for name, kind in (("lenet", Lenet), ("resnet-20", Resnet20)):
        net = kind()
        logits, losses = train(net)
        arrays = {"logits": logits, "loss": np.array(losses), "loss.smoothed": np.array(train(kind(), SMOOTHING)[1])}
        for key, value in {**net.parameters, **net.state}.items():
            flat = value.detach().numpy().ravel()
            arrays["norm." + key] = np.array([np.linalg.norm(flat)])
            arrays["sample." + key] = flat[np.arange(SAMPLES) * flat.size // SAMPLES]
        np.savez_compressed(os.path.join(HERE, f"dense-{name}.npz"), **arrays)
        print(name, " ".join(f"{loss:.6f}" for loss in losses))


if __name__ == "__main__":
    main()
