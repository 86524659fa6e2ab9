"""Saved policies with something changed: the tools, and random changes of many sorts."""

import json

import numpy as np

from policyforest._support.tensor_files import DTYPES

TERABYTES = 2**43


def parted(whole):
    """Header as data, and the numbers, of a file; without the digest, as a forger or an older version writes it."""
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    header["__metadata__"].pop("sha256", None)
    return header, whole[8 + length :]


def joined(header, numbers):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + numbers


def with_text(whole, change):
    """The file with its JSON text changed in place by `change(content)`."""
    header, numbers = parted(whole)
    content = json.loads(header["__metadata__"]["policyforest"])
    change(content)
    header["__metadata__"]["policyforest"] = json.dumps(content)
    return joined(header, numbers)


def with_number(whole, name, index, value):
    """The file with one number of an array replaced."""
    header, numbers = parted(whole)
    begin, end = header[name]["data_offsets"]
    dtype = DTYPES[header[name]["dtype"]]
    array = np.frombuffer(numbers[begin:end], dtype).copy()
    array[index] = value
    return joined(header, numbers[:begin] + array.tobytes() + numbers[end:])


ODD_VALUES = [
    *(0, 1, 2, 3, -1, -(2**31), 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, TERABYTES),
    *(0.0, -0.5, 1e308, -1e308, 5e-324, 1e999, float("nan"), True, False, None, "", "0", "-1", "inf", "nan", "1e400"),
    *(
        [],
        {},
        [0],
        [[]],
        {"a": 1},
        "forest",
        "greedy",
        "lspi",
        "I32",
        "I64",
        "F64",
        "float32",
        "(1,",
        "\ud800",
        "x" * 999,
    ),
]


def leaves(value, at=()):
    """The ways to all values in nested data, and to the containers."""
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from leaves(item, (*at, key))


def changed_data(data, rng):
    """Nested data with one value replaced, removed or copied to another place."""
    data = json.loads(json.dumps(data))
    ways = [way for way in leaves(data) if way]
    *way, last = ways[rng.integers(len(ways))]
    parent = data
    for key in way:
        parent = parent[key]
    choice = rng.integers(4)
    if choice == 0:
        del parent[last]
    elif choice == 1 and isinstance(parent[last], int):
        parent[last] += int(rng.choice([-8, -4, -1, 1, 4, 8]))
    else:
        parent[last] = ODD_VALUES[rng.integers(len(ODD_VALUES))]
    return data


def flip_bits(whole, rng):
    content = bytearray(whole)
    for _ in range(rng.integers(1, 4)):
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return bytes(content)


def flip_bit_of_header(whole, rng):
    content = bytearray(whole)
    content[rng.integers(8 + int.from_bytes(whole[:8], "little"))] ^= 1 << int(rng.integers(8))
    return bytes(content)


def cut_or_stretch(whole, rng):
    at, n = int(rng.integers(len(whole))), int(rng.integers(1, 40))
    middle = rng.choice([b"", bytes(n), rng.bytes(n), whole[at : at + n] * 2])
    return (whole[:at], whole[:at] + middle + whole[at + n :])[int(rng.integers(2))]


def change_header(whole, rng):
    header, numbers = parted(whole)
    return joined(changed_data(header, rng), numbers)


def change_text(whole, rng):
    header, numbers = parted(whole)
    content = changed_data(json.loads(header["__metadata__"]["policyforest"]), rng)
    header["__metadata__"]["policyforest"] = json.dumps(content)
    return joined(header, numbers)


def change_number(whole, rng):
    header, _ = parted(whole)
    name = rng.choice([name for name in header if name != "__metadata__"])
    dtype = DTYPES[header[name]["dtype"]]
    index = rng.integers(np.prod(header[name]["shape"], dtype=int))
    odd = [0, 1, 2, 3, -1, -2, 5, 7, 11, np.iinfo(np.int32).max, np.iinfo(np.int32).min]
    if dtype.kind == "f":
        odd += [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e150, 5e-324, -0.0, 1e-9]
    return with_number(whole, name, index, odd[rng.integers(len(odd))])


MUTATIONS = [flip_bits, flip_bit_of_header, cut_or_stretch, change_header, change_text, change_number]
