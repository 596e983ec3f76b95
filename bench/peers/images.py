#!/usr/bin/env python3
"""PyTorch's training rate of a network on images, on the CPU, channels last: the peer of `weft train` on generated images.

    bench/peers/images.py resnet-20 --batch 128 --steps 60 [--bf16] [--threads 2]

Needs torch alone. Steps of forward, backward and SGD with momentum on one batch that stays, so that nothing is read: prints the
median rate with quartiles, and the process's peak memory. Networks, shortcuts and optimiser are those of src/dense/net/zoo.c;
tests/train/test_golden_dense.c holds that the two compute the same.
"""
import argparse
import resource
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn


class Basic(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.stride, self.padding = stride, (out - channels) // 2

    def forward(self, x):
        shortcut = x
        if self.padding:
            shortcut = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.padding, self.padding))
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += shortcut
        return F.relu(y, inplace=True)


class Bottleneck(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        narrow = out // 4
        self.conv1, self.bn1 = nn.Conv2d(channels, narrow, 1, bias=False), nn.BatchNorm2d(narrow)
        self.conv2, self.bn2 = nn.Conv2d(narrow, narrow, 3, stride, 1, bias=False), nn.BatchNorm2d(narrow)
        self.conv3, self.bn3 = nn.Conv2d(narrow, out, 1, bias=False), nn.BatchNorm2d(out)
        self.downsample = None
        if channels != out or stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        y += shortcut
        return F.relu(y, inplace=True)


def stages(layers, block, channels, plan):
    for out, count, stride in plan:
        for i in range(count):
            layers.append(block(channels, out, stride if i == 0 else 1))
            channels = out
    return channels


def resnet20():
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
    width = stages(layers, Basic, 16, [(16, 3, 1), (32, 3, 2), (64, 3, 2)])
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)), 32


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    width = stages(layers, Bottleneck, 64, [(256, 3, 1), (512, 4, 2), (1024, 6, 2), (2048, 3, 2)])
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)), 224


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=["resnet-20", "resnet-50"])
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bf16", action="store_true", help="autocast to bfloat16")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    net, size = resnet20() if args.network == "resnet-20" else resnet50()
    net = net.to(memory_format=torch.channels_last)
    sgd = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    pixels = torch.randn(args.batch, 3, size, size).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (args.batch,))
    rates = []
    for step in range(args.steps + 2):
        begin = time.perf_counter()
        sgd.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
            logits = net(pixels)
        F.cross_entropy(logits.float(), labels).backward()
        sgd.step()
        if step >= 2:  # formats are chosen and memory is touched in the first ones
            rates.append(args.batch / (time.perf_counter() - begin))
    low, middle, high = statistics.quantiles(rates, n=4)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"torch {torch.__version__} {args.network} batch {args.batch} {'bf16' if args.bf16 else 'f32'}: "
          f"{middle:.1f} images/s ({low:.1f} to {high:.1f}), peak {peak:.2f} GiB")


if __name__ == "__main__":
    main()
