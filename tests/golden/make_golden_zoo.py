#!/usr/bin/env python3
"""Training states of torchvision's networks, and of one with every word of a .net file, frozen to check Weft against.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch==2.14.1 torchvision==0.29.1
    /tmp/golden/bin/python tests/golden/make_golden_zoo.py [NAME ...]      # writes zoo-*.npz beside this script

Ten steps in float64 as make_golden_dense.py makes them, at a tenth of its rate, whose rule() gives pixels, labels and first weights; without
dropout and stochastic depth. Networks come from torchvision with its names, mobilenet-v1 with those of timm from this
script, as does words.net, written out with torch.nn.functional; encoder-small is PyTorch's TransformerEncoder. Images are 32 x 32, those of
words.net 16 x 16, texts 24 of 50 words.

    logits, loss   as in dense-*.npz
    names          [n] FNV-1a of each tensor's name: parameters in the order of layers, then means and variances
    norms          [n] Euclidean norm of each at the end
    samples        [n, 4] elements i * size / 4 of each
"""
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from make_golden_dense import CLASSES, DECAY, HERE, IMAGES, MOMENTUM, STEPS, rule

SAMPLES, LR = 4, 1e-4
WORDS, LENGTH = 50, 24


def batch(step, size):
    pixels = rule(1000 + step, IMAGES * size * size * 3).reshape(IMAGES, size, size, 3)
    labels = (np.arange(IMAGES) * 7 + step * 3) % CLASSES
    for n, label in enumerate(labels):
        pixels[n, 2 * label : 2 * label + 3] += 1.0
    return torch.tensor(pixels).permute(0, 3, 1, 2).contiguous(), torch.tensor(labels)


def fnv(name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


class MobilenetV1(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_stem, self.bn1 = nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32)
        self.blocks, width = nn.ModuleList(), 32
        for blocks, out, stride in ((1, 64, 1), (2, 128, 2), (2, 256, 2), (6, 512, 2), (2, 1024, 2)):
            stage = nn.ModuleList()
            for i in range(blocks):
                block = nn.Module()
                block.conv_dw = nn.Conv2d(width, width, 3, stride if i == 0 else 1, 1, groups=width, bias=False)
                block.bn1 = nn.BatchNorm2d(width)
                block.conv_pw, block.bn2 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
                stage.append(block)
                width = out
            self.blocks.append(stage)
        self.classifier = nn.Linear(width, CLASSES)

    def forward(self, x):
        x = F.relu6(self.bn1(self.conv_stem(x)))
        for stage in self.blocks:
            for block in stage:
                x = F.relu6(block.bn1(block.conv_dw(x)))
                x = F.relu6(block.bn2(block.conv_pw(x)))
        return self.classifier(x.mean((2, 3)))


class Words(nn.Module):
    """words.net, line by line."""

    def __init__(self):
        super().__init__()
        conv, norm = lambda *a, **k: nn.Conv2d(*a, **k), nn.BatchNorm2d
        layers = [
            ("stem", conv(3, 8, 3, padding=1, bias=False)), ("stem_norm", nn.LayerNorm(8, eps=1e-4)), ("wide", nn.Linear(8, 16)),
            ("dw", conv(16, 16, 3, stride=2, padding=1, groups=16, bias=False)), ("dw_norm", norm(16)), ("squeeze", conv(16, 4, 1)),
            ("excite", conv(4, 16, 1)), ("project", conv(16, 8, 1, bias=False)), ("project_norm", nn.GroupNorm(2, 8)),
            ("gain", None), ("low_conv", conv(8, 4, 3, padding=1)), ("tail", conv(20, 20, 5, padding=2, groups=20)),
            ("tail_norm", norm(20)), ("fc", nn.Linear(20, CLASSES)), ("out", nn.Linear(CLASSES, CLASSES)),
        ]
        for name, layer in layers:
            if layer is None:
                self.gain = nn.Parameter(torch.ones(8, 1, 1))
            else:
                self.add_module(name, layer)

    def forward(self, x):
        channels = lambda layer, x: layer(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        stem = F.gelu(channels(self.stem_norm, self.stem(x)))
        dw = F.relu6(self.dw_norm(self.dw(F.silu(channels(self.wide, stem)))))
        gate = torch.sigmoid(self.excite(F.silu(self.squeeze(dw.mean((2, 3), keepdim=True)))))
        gain = self.gain * self.project_norm(self.project(gate * dw))
        summed = F.avg_pool2d(stem, 2) + gain
        low = F.interpolate(self.low_conv(F.avg_pool2d(summed, 2)), scale_factor=2, mode="nearest")
        mixed = torch.cat((torch.cat((summed, low), 1), gain * summed), 1)
        x = torch.sigmoid(self.tail_norm(self.tail(mixed))).mean((2, 3))
        return torch.sigmoid(self.out(F.silu(self.fc(x))))


class Encoder(nn.Module):
    """PyTorch's own encoder over texts of WORDS words, and the mean over a text's tokens."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.embedding, self.position = nn.Embedding(WORDS, 128, padding_idx=0), nn.Parameter(torch.zeros(LENGTH, 128))
        self.encoder = nn.TransformerEncoder(layer, 4, nn.LayerNorm(128), enable_nested_tensor=False)
        self.classifier = nn.Linear(128, CLASSES)

    def forward(self, ids):
        inside = (ids > 0).unsqueeze(-1)
        x = self.encoder(self.embedding(ids) + self.position, src_key_padding_mask=ids == 0)
        return self.classifier((x * inside).sum(1) / inside.sum(1))


def texts(step):
    """The label's word, and then others up to the text's end, by the rule."""
    drawn = (rule(1000 + step, IMAGES * LENGTH).reshape(IMAGES, LENGTH) + 1.0) / 2.0
    ids = (1 + np.floor(drawn * (WORDS - 1))).astype(np.int64)
    labels = (np.arange(IMAGES) * 7 + step * 3) % CLASSES
    ids[:, 0] = labels + 1
    for n in range(IMAGES):
        ids[n, 5 + (3 * n + step) % (LENGTH - 4) :] = 0
    return torch.tensor(ids), torch.tensor(labels)


def torchvision_net(name, **options):
    import torchvision

    return getattr(torchvision.models, name)(num_classes=CLASSES, weights=None, **options)


def vgg(name):
    """Its first linear layer reads what pooling leaves, as a text's does; torchvision repeats that until it is 7 x 7."""
    net = torchvision_net(name, dropout=0.0)
    net.avgpool, net.classifier[0] = nn.Identity(), nn.Linear(512, 4096)
    return net


NETS = {
    "words": (Words, 16),
    "vgg-11": (lambda: vgg("vgg11"), 32),
    "vgg-16": (lambda: vgg("vgg16"), 32),
    "mobilenet-v1": (MobilenetV1, 32),
    "mobilenet-v2": (lambda: torchvision_net("mobilenet_v2", dropout=0.0), 32),
    "densenet-121": (lambda: torchvision_net("densenet121"), 32),
    "encoder-small": (Encoder, LENGTH),
    "convnext-tiny": (lambda: torchvision_net("convnext_tiny", stochastic_depth_prob=0.0), 32),
}


def in_order(net):
    """Parameters by name in the order of layers: a factor of channels stands behind its block."""
    items, order = list(net.named_parameters()), []
    if isinstance(net, Encoder):
        parts = ["norm1", "self_attn.in_proj_", "self_attn.out_proj", "norm2", "linear1", "linear2"]
        wanted = ["embedding.weight", "position"] + [f"encoder.layers.{i}.{part}{'' if part.endswith('_') else '.'}{kind}"
                  for i in range(4) for part in parts for kind in ("weight", "bias")]
        wanted += ["encoder.norm.weight", "encoder.norm.bias", "classifier.weight", "classifier.bias"]
        assert sorted(wanted) == sorted(name for name, _ in items)
        return [(name, dict(items)[name]) for name in wanted]
    waiting = None
    for name, value in items:
        if waiting and not name.startswith(waiting[0].rsplit(".", 1)[0] + "."):
            order.append(waiting)
            waiting = None
        if name.endswith("layer_scale"):
            waiting = (name, value)
        elif isinstance(net, Words) and value.dim() == 3:
            continue
        else:
            if name == "low_conv.weight":
                order.append(("gain", net.gain))
            order.append((name.replace("_", ".") if isinstance(net, Words) else name, value))
    return order


def draw(parameters):
    with torch.no_grad():
        for number, (name, value) in enumerate(parameters):
            shape, fan_in = tuple(value.shape), value[0].numel()
            base = 1.0 if value.dim() == 3 or value.dim() == 1 and name.endswith(".weight") else 0.0
            spread = 0.1 if value.dim() in (1, 3) else ((6.0 if value.dim() == 4 else 1.0) / fan_in) ** 0.5
            value.copy_(torch.tensor(base + spread * rule(number, value.numel()).reshape(shape)))


def train(net, parameters, size):
    velocity, losses, first = {}, [], None
    for step in range(STEPS):
        pixels, labels = texts(step) if isinstance(net, Encoder) else batch(step, size)
        logits = net(pixels)
        loss = F.cross_entropy(logits, labels)
        first = logits.detach().numpy() if first is None else first
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, [value for _, value in parameters])
        with torch.no_grad():
            for (name, value), g in zip(parameters, gradients):
                free = name in ("embedding.weight", "position")
                g = g + DECAY * value if value.dim() in (2, 4) and not free else g
                v = velocity[name] = MOMENTUM * velocity[name] + g if name in velocity else g.clone()
                value -= LR * (g + MOMENTUM * v)
    return first, losses


def main():
    for name in sys.argv[1:] or NETS:
        make, size = NETS[name]
        net = make().double().train()
        for module in net.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.reset_running_stats()
        parameters = in_order(net)
        draw(parameters)
        logits, losses = train(net, parameters, size)
        state = [(key, value) for key, value in net.named_buffers() if not key.endswith("num_batches_tracked")]
        if isinstance(net, Words):
            state = [(key.replace("_norm.", ".norm."), value) for key, value in state]
        tensors = [(key, value.detach().numpy().ravel()) for key, value in parameters + state]
        np.savez_compressed(
            os.path.join(HERE, f"zoo-{name}.npz"), logits=logits, loss=np.array(losses),
            names=np.array([fnv(key) for key, _ in tensors], dtype=np.uint64),
            norms=np.array([np.linalg.norm(value) for _, value in tensors]),
            samples=np.array([value[np.arange(SAMPLES) * value.size // SAMPLES] for _, value in tensors]))
        print(name, len(tensors), " ".join(f"{loss:.6f}" for loss in losses), flush=True)


if __name__ == "__main__":
    main()
