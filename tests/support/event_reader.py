"""event_reader: TensorBoard's event files, read as TFRecord and Protocol Buffers' wire format describe them.

Nothing of Weft or TensorBoard is used: checksums are computed bit by bit, fields are taken apart one by one, and whatever
does not fit is an AssertionError.
"""
import glob
import os
import struct


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283 and crc32c(b"") == 0 and crc32c(bytes(32)) == 0x8A9136AA


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """Payloads of whole records; what a writer has begun to write may be left over."""
    at, out = 0, []
    while at + 12 <= len(data):
        length, check = struct.unpack_from("<QI", data, at)
        assert check == masked(data[at:at + 8]), f"checksum of the length at {at}"
        if at + 16 + length > len(data):
            break
        payload = data[at + 12:at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(payload), f"checksum of the record at {at}"
        out.append(payload)
        at += 16 + length
    return out, data[at:]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """[(field, value)]: integers, and bytes of what is fixed or counted."""
    at, out = 0, []
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            length = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                length, at = varint(data, at)
            assert length is not None and at + length <= len(data), (kind, at)
            value, at = data[at:at + length], at + length
        out.append((key >> 3, value))
    return out


class Event:
    def __init__(self, payload):
        self.time = self.step = 0
        self.version = self.session = None
        self.values = {}
        for field, value in fields(payload):
            if field == 1:
                self.time, = struct.unpack("<d", value)
            elif field == 2:
                self.step = value
            elif field == 3:
                self.version = value.decode()
            elif field == 5:
                for inner, one in fields(value):
                    assert inner == 1, inner
                    named = dict(fields(one))
                    assert set(named) == {1, 2}, named
                    tag = named[1].decode()
                    assert tag not in self.values, tag
                    self.values[tag], = struct.unpack("<f", named[2])
            elif field == 7:
                self.session = dict(fields(value))[1]
            else:
                raise AssertionError(f"field {field}")


def read_file(path):
    """(events, bytes left over); the first event is the version."""
    with open(path, "rb") as file:
        payloads, rest = records(file.read())
    events = [Event(p) for p in payloads]
    assert not events or (events[0].version == "brain.Event:2" and not events[0].values), path
    assert all(e.version is None for e in events[1:])
    assert all(a.time <= b.time for a, b in zip(events, events[1:])), "times fall"
    return events, rest


def files_of(folder):
    """In the order in which they were written, which is that of their names."""
    return sorted(glob.glob(os.path.join(glob.escape(folder), "events.out.tfevents.*")))


def scalars(folder):
    """{tag: [(step, value)]} over all whole files of a folder, as they stand, nothing purged."""
    out = {}
    for path in files_of(folder):
        events, rest = read_file(path)
        assert rest == b"", (path, rest)
        for event in events:
            for tag, value in event.values.items():
                out.setdefault(tag, []).append((event.step, value))
    return out
