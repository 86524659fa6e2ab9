"""Saved policies with something changed: the tools, changes of the header by name, and random changes of many sorts."""

import json

import numpy as np
import pytest

from policyforest._support.tensor_files import DTYPES
from policyforest.policy.policy_files import load

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


def refused(path, content):
    """The message with which the content is refused."""
    path.write_bytes(content)
    with pytest.raises(ValueError, match=path.name) as caught:
        load(path)
    return str(caught.value)


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


CHANGED_HEADERS = {
    "no text": lambda h: h.pop("__metadata__"),
    "text is a list": lambda h: h.update(__metadata__=[]),
    "text in text": lambda h: h["__metadata__"].update(policyforest=1),
    "text not JSON": lambda h: h["__metadata__"].update(policyforest="{"),
    "text a number": lambda h: h["__metadata__"].update(policyforest="7"),
    "missing array": lambda h: h.pop("forest0.split"),
    "renamed array": lambda h: h.update({"forest9.split": h.pop("forest0.split")}),
    "unknown empty array": lambda h: h.update(more=entry("F64", [0], 0, 0)),
    "no shape": lambda h: h["forest0.split"].pop("shape"),
    "unknown field": lambda h: h["forest0.split"].update(code=1),
    "entry is a list": lambda h: h.update({"forest0.split": []}),
    "dtype of objects": lambda h: h["forest0.split"].update(dtype="O"),
    "dtype is a list": lambda h: h["forest0.split"].update(dtype=["F64"]),
    "integers for floats": lambda h: h["forest0.split"].update(dtype="I64"),
    "floats for integers": lambda h: h["forest0.node_offsets"].update(dtype="F64"),
    "shape of text": lambda h: h["forest0.split"].update(shape=["1"]),
    "shape of truth": lambda h: h["forest0.node_offsets"].update(shape=[True]),
    "shape with a point": lambda h: h["forest0.node_offsets"].update(shape=[4.0]),
    "negative shape": lambda h: h["forest0.split"].update(shape=[-1]),
    "two negatives": lambda h: h["forest0.box"].update(shape=[-2, -2]),
    "scalar": lambda h: h["forest0.split"].update(shape=[]),
    "three dimensions": lambda h: h["forest0.box"].update(shape=[2, 2, 1]),
    "box transposed": lambda h: h["forest0.box"].update(shape=[1, 4]),
    "nothing, endlessly wide": lambda h: h.update(
        {"forest0.coefficients": entry("F64", [0, 10**30], 0, 0)} | {"forest0.split": h["forest0.split"]}
    ),
    "product that wraps around": lambda h: h["forest0.split"].update(shape=[2**32, 2**32]),
    "terabytes": lambda h: h["forest0.split"].update(shape=[TERABYTES // 8], data_offsets=[0, TERABYTES]),
    "terabytes, elsewhere": lambda h: h["forest0.split"].update(data_offsets=[TERABYTES, TERABYTES + 8]),
    "negative offsets": lambda h: h["forest0.split"].update(data_offsets=[-8, 0]),
    "offsets upside down": lambda h: h["forest0.split"]["data_offsets"].reverse(),
    "three offsets": lambda h: h["forest0.split"]["data_offsets"].append(8),
    "overlap": lambda h: h["forest0.box"].update(data_offsets=[0, 32]),
    "whole numbers of 4,000 digits": lambda h: h["forest0.split"].update(shape=[10**4000, 10**4000]),
}


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
