"""numpy_arrays.py FOLDER write|check: the NumPy side of test_npy_numpy.c.

write: saves arrays of every element type, order, version and container; beside each lies NAME.bin, the same elements in C
order and native byte order, and index.txt tells "container member kind item_bytes dims shape...".
check: loads what the C side wrote (c_*.npy, c.npz) and compares values, types and, for .npy, every byte with numpy.save's.
"""
import io
import os
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)

folder, action = sys.argv[1:]
os.chdir(folder)
rng = np.random.default_rng(1)
TYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]


def make(code, shape):
    values = rng.integers(0, 1 << 62, size=shape, dtype=np.uint64)
    if code == "?":
        return (values & np.uint64(1)).astype(bool)
    if code[0] == "f":
        return (values.astype("f8") / 1e17 - 20).astype(code)
    return values.astype(code)


def cases():
    for code in TYPES:
        for order in "<>":
            for shape in [(), (0,), (7,), (3, 5), (2, 3, 4), (2, 1, 3, 2)]:
                array = make(code, shape).astype(np.dtype(code).newbyteorder(order))
                yield array
                if len(shape) > 1:
                    yield np.asfortranarray(array)
    yield np.array(["ab", "cde", ""], dtype="<U3")
    yield np.array(["ab", "cde", ""], dtype=">U3")
    yield np.array([b"ab", b"cdefg"], dtype="S5")


def write():
    index = []
    stored, packed = {}, {}
    for i, array in enumerate(cases()):
        native = np.ascontiguousarray(array).reshape(array.shape).astype(array.dtype.newbyteorder("="))
        with open(f"{i}.bin", "wb") as stream:
            stream.write(native.tobytes())
        facts = f"{array.dtype.kind} {array.dtype.itemsize} {array.ndim} {' '.join(map(str, array.shape))}"
        for version in [(1, 0), (2, 0), (3, 0)]:
            name = f"{i}v{version[0]}.npy"
            with open(name, "wb") as stream:
                np.lib.format.write_array(stream, array, version=version, allow_pickle=False)
            index.append(f"{name} - {i}.bin {facts}")
        stored[f"a{i}"] = packed[f"a{i}"] = array
        index.append(f"stored.npz a{i} {i}.bin {facts}")
        index.append(f"packed.npz a{i} {i}.bin {facts}")
        index.append(f"stream.npz a{i} {i}.bin {facts}")
    np.savez("stored.npz", **stored)
    np.savez_compressed("packed.npz", **packed)

    class Pipe(io.RawIOBase):  # cannot seek: zipfile then writes data descriptors
        def __init__(self, path):
            self.stream = open(path, "wb")

        def writable(self):
            return True

        def write(self, data):
            return self.stream.write(data)

    np.savez_compressed(Pipe("stream.npz"), **packed)
    np.save("object.npy", np.array([None, "x"], dtype=object), allow_pickle=True)
    np.save("record.npy", np.zeros(3, dtype=[("a", "<f4"), ("b", "<i8")]))
    np.savez("mixed.npz", good=np.arange(3, dtype="<i8"), bad=np.array([{}], dtype=object))
    with open("index.txt", "w") as stream:
        stream.write("\n".join(index) + "\n")


def check():
    for code in TYPES:
        for dims, shape in enumerate([(), (3,), (3, 4)]):
            count = int(np.prod(shape))
            expected = np.arange(count).astype(code).reshape(shape)
            name = f"c_{np.dtype(code).kind}{np.dtype(code).itemsize}_{dims}.npy"
            got = np.load(name, allow_pickle=False)
            assert got.dtype == expected.dtype and got.shape == shape, name
            assert (got == expected).all(), name
            if int(np.__version__.split(".")[0]) < 2:
                continue  # older versions pad the header differently
            reference = io.BytesIO()
            np.save(reference, expected)
            with open(name, "rb") as stream:
                assert stream.read() == reference.getvalue(), f"{name} differs from numpy.save's bytes"
    with np.load("c.npz", allow_pickle=False) as npz:
        assert sorted(npz.files) == ["empty", "matrix", "scalar"], npz.files
        assert (npz["matrix"] == np.arange(6, dtype="<f4").reshape(2, 3)).all()
        assert npz["scalar"].shape == () and npz["scalar"] == 42
        assert npz["empty"].shape == (0, 5)


{"write": write, "check": check}[action]()
