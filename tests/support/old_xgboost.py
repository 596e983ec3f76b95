"""libxgboost 1.7, which Debian has, by its C functions: trained models as JSON, and answers of models."""

import ctypes
import sys

import numpy as np

try:
    LIBRARY = ctypes.CDLL("libxgboost.so.0")
    LIBRARY.XGBGetLastError.restype = ctypes.c_char_p
except OSError:
    LIBRARY = None
MARGINS, CONTRIBUTIONS, PAIRS, LEAVES = 1, 4, 16, 2


def check(code):
    assert code == 0, LIBRARY.XGBGetLastError().decode()


class Rows:
    """[rows, columns] of float32 numbers, NaN where one is missing."""

    def __init__(self, x, y=None):
        x = np.ascontiguousarray(x, np.float32)
        self.handle = ctypes.c_void_p()
        self.rows = len(x)
        check(LIBRARY.XGDMatrixCreateFromMat(x.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), ctypes.c_uint64(x.shape[0]),
                                             ctypes.c_uint64(x.shape[1]), ctypes.c_float(np.nan), ctypes.byref(self.handle)))
        if y is not None:
            y = np.ascontiguousarray(y, np.float32)
            check(LIBRARY.XGDMatrixSetFloatInfo(self.handle, b"label", y.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), ctypes.c_uint64(len(y))))


class Model:
    def __init__(self, rows=None):
        self.handle = ctypes.c_void_p()
        handles = (ctypes.c_void_p * 1)(rows.handle if rows else None)
        check(LIBRARY.XGBoosterCreate(handles, ctypes.c_uint64(1 if rows else 0), ctypes.byref(self.handle)))

    def train(self, rows, rounds, **settings):
        for name, value in settings.items():
            check(LIBRARY.XGBoosterSetParam(self.handle, name.encode(), str(value).encode()))
        for k in range(rounds):
            check(LIBRARY.XGBoosterUpdateOneIter(self.handle, k, rows.handle))

    def load(self, path):
        check(LIBRARY.XGBoosterLoadModel(self.handle, path.encode()))
        return self

    def save(self, path):
        check(LIBRARY.XGBoosterSaveModel(self.handle, path.encode()))

    def answer(self, rows, what=0):
        count, numbers = ctypes.c_uint64(), ctypes.POINTER(ctypes.c_float)()
        check(LIBRARY.XGBoosterPredict(self.handle, rows.handle, what, ctypes.c_uint(0), 0, ctypes.byref(count), ctypes.byref(numbers)))
        return np.ctypeslib.as_array(numbers, (count.value,)).reshape(rows.rows, -1).astype(np.float64)


if __name__ == "__main__":
    sys.exit(0 if LIBRARY is not None else 1)
