"""focus_index.py: files of weft focus and weft predict, read for tests."""
import ast
import struct


def npy(path):
    with open(path, "rb") as stream:
        data = stream.read()
    length = struct.unpack_from("<H", data, 8)[0]
    head = ast.literal_eval(data[10:10 + length].decode())
    code = {"<f4": "f", "<i4": "i"}[head["descr"]]
    rows, columns = head["shape"]
    values = struct.unpack_from(f"<{rows * columns}{code}", data, 10 + length)
    return [values[i * columns:(i + 1) * columns] for i in range(rows)]


def blocks(path):
    with open(path, "rb") as stream:
        data = stream.read()
    at = 0
    while at < len(data):
        magic, kind, zero, size, _, _ = struct.unpack_from("<8sIIQQQ", data, at)
        assert magic == b"WEFTFOC1" and zero == 0
        yield kind, data[at + 40:at + 40 + size]
        at += 40 + size
    assert at == len(data)
