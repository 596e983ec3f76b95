"""png: the pixels of a PNG file (8 bits, RGB or RGBA, not interlaced), by zlib alone."""
import struct
import zlib


def paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def unfilter(kind, line, before, step):
    if kind == 1:
        for i in range(step, len(line)):
            line[i] = (line[i] + line[i - step]) & 255
    elif kind == 2:
        for i, up in enumerate(before):
            line[i] = (line[i] + up) & 255
    elif kind == 3:
        for i, up in enumerate(before):
            line[i] = (line[i] + ((line[i - step] if i >= step else 0) + up) // 2) & 255
    elif kind == 4:
        for i, up in enumerate(before):
            left, corner = (line[i - step], before[i - step]) if i >= step else (0, 0)
            line[i] = (line[i] + paeth(left, up, corner)) & 255
    return line


def read(path):
    """(width, height, rows): rows[y][x] is (r, g, b)."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "not a PNG"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        at += 12 + length
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and colour in (2, 6) and not interlaced, (depth, colour, interlaced)
        elif kind == b"IDAT":
            packed += body
    step = 3 if colour == 2 else 4
    raw, stride = zlib.decompress(packed), step * width
    rows, before = [], bytes(stride)
    for y in range(height):
        start = y * (stride + 1)
        before = unfilter(raw[start], bytearray(raw[start + 1:start + 1 + stride]), before, step)
        rows.append(list(zip(before[0::step], before[1::step], before[2::step])))
    return width, height, rows
