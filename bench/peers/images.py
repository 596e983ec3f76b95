#!/usr/bin/env python3
"""PyTorch's training rate of a network on images, channels last: the peer of `weft train` and `weft bench dense` on generated ones.

    bench/peers/images.py resnet-20 --batch 128 --steps 60 [--bf16|--f16] [--device cuda] [--threads 2]

Needs torch, and torchvision for all but ResNets. Steps of forward, backward and SGD with momentum on one batch that stays, so that nothing is read: prints the
median rate with quartiles, and the peak memory of the process, or of the GPU. On one the clock is read when all is done, cuDNN tries
its ways first, and float16 has its scaler. Networks, shortcuts and optimiser are those of dense/net/zoo.c;
tests/train/test_golden_dense.c and test_golden_zoo.c hold that the two compute the same.
"""
import argparse
import contextlib
import json
import os
import resource
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from measuring import quartiles  # noqa: E402

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


class Encoder(nn.Module):
    """encoder-small: PyTorch's own layers over texts of 128 words of 20,000, and the mean over a text's tokens."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
        self.embedding, self.position = nn.Embedding(20002, 128, padding_idx=0), nn.Parameter(0.02 * torch.randn(128, 128))
        self.encoder = nn.TransformerEncoder(layer, 4, nn.LayerNorm(128), enable_nested_tensor=False)
        self.classifier = nn.Linear(128, 10)

    def forward(self, ids):
        inside = (ids > 0).unsqueeze(-1)
        x = self.encoder(self.embedding(ids) + self.position, src_key_padding_mask=ids == 0)
        return self.classifier((x * inside).sum(1) / inside.sum(1))


def torchvisions(name):
    import torchvision

    return getattr(torchvision.models, name)(weights=None, num_classes=10), 224


NETWORKS = {
    "resnet-20": resnet20,
    "resnet-50": resnet50,
    "encoder-small": lambda: (Encoder(), 0),
    "vgg-16": lambda: torchvisions("vgg16"),
    "mobilenet-v2": lambda: torchvisions("mobilenet_v2"),
    "densenet-121": lambda: torchvisions("densenet121"),
    "convnext-tiny": lambda: torchvisions("convnext_tiny"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=list(NETWORKS))
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", action="store_true", help="all rates as JSON")
    half = parser.add_mutually_exclusive_group()
    half.add_argument("--bf16", dest="half", action="store_const", const=torch.bfloat16, help="autocast to bfloat16")
    half.add_argument("--f16", dest="half", action="store_const", const=torch.float16, help="autocast to float16")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.backends.cudnn.benchmark = True
    gpu = args.device == "cuda"
    net, size = NETWORKS[args.network]()
    net = net.to(args.device, memory_format=torch.channels_last)
    sgd = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    if size:
        pixels = torch.randn(args.batch, 3, size, size).to(args.device, memory_format=torch.channels_last)
    else:  # texts of 128 words, half of them shorter
        pixels = torch.randint(1, 20002, (args.batch, 128)).to(args.device)
        pixels[::2, 96:] = 0
    labels = torch.randint(0, 10, (args.batch,)).to(args.device)
    scaler = torch.amp.GradScaler(args.device, enabled=gpu and args.half == torch.float16)
    rates = []
    for step in range(args.steps + 2):
        begin = time.perf_counter()
        sgd.zero_grad(set_to_none=True)
        with torch.autocast(args.device, args.half) if args.half else contextlib.nullcontext():
            logits = net(pixels)
        scaler.scale(F.cross_entropy(logits.float(), labels)).backward()
        scaler.step(sgd)
        scaler.update()
        if gpu:
            torch.cuda.synchronize()
        if step >= 2:  # formats are chosen and memory is touched in the first ones
            rates.append(args.batch / (time.perf_counter() - begin))
    rate = quartiles(rates)
    peak = torch.cuda.max_memory_allocated() / 2**30 if gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    kind = str(args.half or torch.float32).removeprefix("torch.")
    if args.json:
        print(json.dumps({"torch": torch.__version__, "rates": rates, "peak_gib": peak}))
        return
    print(f"torch {torch.__version__} {torch.cuda.get_device_name() if gpu else 'cpu'} {args.network} batch {args.batch} {kind}: "
          f"{rate['median']:.1f} images/s ({rate['q1']:.1f} to {rate['q3']:.1f}), peak {peak:.2f} GiB")


if __name__ == "__main__":
    main()
