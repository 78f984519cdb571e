"""Reads and writes corpora of timed kernels without Smelt: TFRecord shards of KernelExample protos (docs/formats.md).

    for record in corpus.read("corpus"):
        print(record["program"], min(record["measurements"][0]["seconds"]))
    corpus.write("mine", [{"program": "net", "kernel_text": hlo, "target": "chip", "measurements": [{"seconds": [2e-6], "default_tile": True}]}])

A kernel's hash is Smelt's own: `smelt corpus import mine -o corpus` fills it in. Both functions stream.
"""

import pathlib
import struct

RECORDS_A_SHARD = 4096

# name: (field number, kind); kinds are text, int, bool, double and lists of ints, doubles and measurements.
MEASUREMENT = {"tile": (1, "ints"), "default_tile": (2, "bool"), "seconds": (3, "doubles"), "error": (4, "text"), "reference_seconds": (5, "doubles")}
EXAMPLE = {
    "program": (1, "text"), "kernel_text": (2, "text"), "hash": (3, "text"), "target": (4, "text"), "device": (5, "text"), "policy": (6, "text"),
    "compiler": (7, "text"), "trace": (8, "text"), "measurements": (9, "measurements"), "machine": (10, "text"), "provenance": (11, "text"),
    "unix_seconds": (12, "int"), "placement": (13, "text"), "drift": (14, "double"), "distances": (15, "ints"),
}  # fmt: skip
EMPTY = {"text": "", "int": 0, "bool": False, "double": 0.0, "ints": [], "doubles": [], "measurements": []}


def _table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


CRC_TABLE = _table()


def masked_crc(data):
    """CRC-32C, rotated and offset as TensorFlow does."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def _read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def _block(number, data):
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def encode(record, fields=None):
    """A record as the bytes of its proto; what is not given is left out."""
    out = b""
    for name, (number, kind) in (fields or EXAMPLE).items():
        value = record.get(name)
        if value is None or value == EMPTY[kind]:
            continue
        if kind == "text":
            out += _block(number, value.encode("utf-8", "surrogateescape"))
        elif kind in ("int", "bool"):
            out += _varint(number << 3) + _varint(int(value))
        elif kind == "double":
            out += _varint(number << 3 | 1) + struct.pack("<d", value)
        elif kind == "ints":
            out += _block(number, b"".join(_varint(v) for v in value))
        elif kind == "doubles":
            out += _block(number, struct.pack(f"<{len(value)}d", *value))
        else:
            out += b"".join(_block(number, encode(v, MEASUREMENT)) for v in value)
    return out


def decode(data, fields=None):
    """The bytes of a proto as a record; fields of later versions are skipped."""
    fields = fields or EXAMPLE
    record = {name: list(EMPTY[kind]) if isinstance(EMPTY[kind], list) else EMPTY[kind] for name, (_, kind) in fields.items()}
    names = {number: (name, kind) for name, (number, kind) in fields.items()}
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        name, kind = names.get(key >> 3, (None, None))
        if key & 7 == 0:
            value, at = _read_varint(data, at)
        elif key & 7 == 1:
            value, at = data[at : at + 8], at + 8
        elif key & 7 == 2:
            size, at = _read_varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise ValueError(f"wire type {key & 7} is none that a corpus has")
        if kind == "text":
            record[name] = value.decode("utf-8", "surrogateescape")
        elif kind in ("int", "bool"):
            record[name] = bool(value) if kind == "bool" else _signed(value)
        elif kind == "double":
            record[name] = struct.unpack("<d", value)[0]
        elif kind == "doubles":
            record[name] += [v for (v,) in struct.iter_unpack("<d", value)]
        elif kind == "measurements":
            record[name].append(decode(value, MEASUREMENT))
        elif kind == "ints":
            if isinstance(value, int):
                record[name].append(_signed(value))
                continue
            place = 0
            while place < len(value):
                number, place = _read_varint(value, place)
                record[name].append(_signed(number))
    return record


def read(folder):
    """Yields the records of a corpus, in order. A shard that ends inside a record gives those before it."""
    for shard in sorted(pathlib.Path(folder).glob("shard-*.tfrecord")):
        with shard.open("rb") as file:
            while len(header := file.read(12)) == 12:
                size, crc = struct.unpack("<QI", header)
                if masked_crc(header[:8]) != crc:
                    raise ValueError(f"{shard}: the checksum of a record's length does not match at byte {file.tell() - 12}")
                data, footer = file.read(size), file.read(4)
                if len(data) < size or len(footer) < 4:
                    break
                if struct.unpack("<I", footer)[0] != masked_crc(data):
                    raise ValueError(f"{shard}: the checksum of a record does not match at byte {file.tell() - size - 16}")
                yield decode(data)


def write(folder, records):
    """Writes a new corpus; returns how many records it has."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    count, file = 0, None
    for record in records:
        if count % RECORDS_A_SHARD == 0:
            if file:
                file.close()
            file = (folder / f"shard-{count // RECORDS_A_SHARD:05}.tfrecord").open("wb")
        data = encode(record)
        header = struct.pack("<Q", len(data))
        file.write(header + struct.pack("<I", masked_crc(header)) + data + struct.pack("<I", masked_crc(data)))
        count += 1
    if file:
        file.close()
    return count
