"""XXH3-128 in NumPy, for tests that put the checksums of a changed store or checkpoint right.

The xxHash 0.8 specification, seed 0, default secret. A message of more than 240 bytes is a sequence of blocks of 1024 bytes;
NumPy computes what many blocks add to the eight lanes at once.
"""
from typing import Any, Tuple

import numpy as np

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e"
    "e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d"
    "8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc"
    "8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
_M64 = (1 << 64) - 1
_P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
_STRIPE, _BLOCK = 64, 1024
_PIECE = 1024  # blocks whose contributions are computed together


def _word(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at:at + size], "little")


def _key(at: int) -> int:
    return _word(_SECRET, at)


def _avalanche(h: int) -> int:
    h = (h ^ (h >> 37)) * 0x165667919E3779F9 & _M64
    return h ^ (h >> 32)


def _avalanche_xxh64(h: int) -> int:
    h = (h ^ (h >> 33)) * _P64[1] & _M64
    h = (h ^ (h >> 29)) * _P64[2] & _M64
    return h ^ (h >> 32)


def _fold(a: int, b: int) -> int:
    product = a * b
    return (product ^ (product >> 64)) & _M64


def _swap(h: int, size: int) -> int:
    return int.from_bytes(h.to_bytes(size, "little"), "big")


def _xxh3_up_to_16(data: bytes) -> Tuple[int, int]:
    n = len(data)
    if n == 0:
        return _avalanche_xxh64(_key(64) ^ _key(72)), _avalanche_xxh64(_key(80) ^ _key(88))
    if n <= 3:
        low = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        high = _swap(low, 4)
        high = (high << 13 | high >> 19) & 0xFFFFFFFF
        flips = [_word(_SECRET, at, 4) ^ _word(_SECRET, at + 4, 4) for at in (0, 8)]
        return _avalanche_xxh64(low ^ flips[0]), _avalanche_xxh64(high ^ flips[1])
    if n <= 8:
        keyed = (_word(data, 0, 4) | _word(data, n - 4, 4) << 32) ^ _key(16) ^ _key(24)
        product = keyed * (_P64[0] + (n << 2))
        low, high = product & _M64, product >> 64
        high = (high + (low << 1)) & _M64
        low ^= high >> 3
        low = (low ^ (low >> 35)) * 0x9FB21C651E98DF25 & _M64
        return low ^ (low >> 28), _avalanche(high)
    first, last = _word(data, 0), _word(data, n - 8)
    product = (first ^ last ^ _key(32) ^ _key(40)) * _P64[0]
    low, high = (product + ((n - 1) << 54)) & _M64, product >> 64
    last ^= _key(48) ^ _key(56)
    high = (high + last + (last & 0xFFFFFFFF) * (_P32[1] - 1)) & _M64
    low ^= _swap(high, 8)
    product = low * _P64[1]
    return _avalanche(product & _M64), _avalanche(((product >> 64) + high * _P64[1]) & _M64)


def _xxh3_up_to_240(data: bytes) -> Tuple[int, int]:
    n = len(data)
    low, high = n * _P64[0] & _M64, 0

    def mix(a: int, b: int, secret: int) -> None:
        nonlocal low, high
        a0, a1, b0, b1 = _word(data, a), _word(data, a + 8), _word(data, b), _word(data, b + 8)
        low = ((low + _fold(a0 ^ _key(secret), a1 ^ _key(secret + 8))) ^ (b0 + b1)) & _M64
        high = ((high + _fold(b0 ^ _key(secret + 16), b1 ^ _key(secret + 24))) ^ (a0 + a1)) & _M64

    if n <= 128:
        for i in range((n - 1) // 32, -1, -1):
            mix(16 * i, n - 16 * (i + 1), 32 * i)
    else:
        for i in range(4):
            mix(32 * i, 32 * i + 16, 32 * i)
        low, high = _avalanche(low), _avalanche(high)
        for i in range(4, n // 32):
            mix(32 * i, 32 * i + 16, 3 + 32 * (i - 4))
        mix(n - 16, n - 32, 136 - 17 - 16)
    mixed = (low * _P64[0] + high * _P64[3] + n * _P64[1]) & _M64
    return _avalanche((low + high) & _M64), -_avalanche(mixed) & _M64


def _secret_words(at: int, rows: int) -> np.ndarray:
    """Keys of `rows` stripes: each moves on by 8 bytes."""
    return np.array([[_key(at + 8 * (r + i)) for i in range(8)] for r in range(rows)], dtype=np.uint64)


def _contribution(words: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """What stripes [..., stripes, 8] add to the lanes: [..., 8]."""
    keyed = words ^ keys
    swapped = words.reshape(words.shape[:-1] + (4, 2))[..., ::-1].reshape(words.shape)
    product = (keyed & np.uint64(0xFFFFFFFF)) * (keyed >> np.uint64(32))
    return (product + swapped).sum(axis=-2, dtype=np.uint64)


def _words(data: memoryview, begin: int, end: int) -> np.ndarray:
    return np.frombuffer(data[begin:end], dtype="<u8").astype(np.uint64, copy=False).reshape(-1, 8)


def _xxh3_long(data: memoryview) -> Tuple[int, int]:
    n = len(data)
    lanes = np.array([_P32[2], _P64[0], _P64[1], _P64[2], _P64[3], _P32[1], _P64[4], _P32[0]], dtype=np.uint64)
    keys, scramble = _secret_words(0, 16), _secret_words(128, 1)[0]
    shift, prime, shifted = np.uint64(47), np.uint64(_P32[0]), np.empty(8, dtype=np.uint64)
    blocks = (n - 1) // _BLOCK
    for first in range(0, blocks, _PIECE):
        last = min(first + _PIECE, blocks)
        for added in _contribution(_words(data, first * _BLOCK, last * _BLOCK).reshape(-1, 16, 8), keys):
            lanes += added
            np.right_shift(lanes, shift, out=shifted)
            lanes ^= shifted
            lanes ^= scramble
            lanes *= prime
    stripes = (n - 1 - blocks * _BLOCK) // _STRIPE
    if stripes > 0:
        begin = blocks * _BLOCK
        lanes += _contribution(_words(data, begin, begin + stripes * _STRIPE), keys[:stripes])
    lanes += _contribution(_words(data, n - _STRIPE, n), _secret_words(192 - 64 - 7, 1))
    lane = [int(value) for value in lanes]

    def merge(secret: int, start: int) -> int:
        for i in range(0, 8, 2):
            start += _fold(lane[i] ^ _key(secret + 8 * i), lane[i + 1] ^ _key(secret + 8 * i + 8))
        return _avalanche(start & _M64)

    return merge(11, n * _P64[0] & _M64), merge(192 - 64 - 11, ~(n * _P64[1]) & _M64)


def xxh3_128(data: Any) -> str:
    """XXH3-128 of bytes or of a contiguous array, as `xxhsum -H2` prints it."""
    view = data.reshape(-1).view(np.uint8).data if isinstance(data, np.ndarray) else memoryview(data).cast("B")
    n = len(view)
    short = _xxh3_up_to_16 if n <= 16 else _xxh3_up_to_240
    low, high = short(bytes(view)) if n <= 240 else _xxh3_long(view)
    return "%016x%016x" % (high, low)


def file_hash(path: str) -> str:
    with open(path, "rb") as file:
        return xxh3_128(file.read())
