"""Trees as one table of words, and a loop of a few instructions that walks it.

A node is a head and a threshold; its lower child follows it, the upper one follows the lower one's subtree. The head
holds, from its lowest bit: whether the lower child is a leaf, whether the upper one is, the input that is compared, and
how many words the upper child comes after the lower one. A leaf consists of its numbers. With 16-bit words, a leaf
takes six bytes: two for its value, and four for the split that it requires.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policyforest.export.program import CodeTree, Program

LEAF_BITS = 2
# From this size in bytes on, the cache lines of a tree are no longer fetched together with its neighbours.
LARGE_TREE = 1024
MOST_SIDE_BY_SIDE = 13


@dataclass(frozen=True)
class TreeTable:
    """Words of all trees, one after the other."""

    words: list[int]
    """Signed, of `word_bits`"""
    roots: list[int]
    word_bits: int
    root_bits: int
    feature_bits: int
    wide: bool
    """Whether a head has two words, the lower half first, because a tree is too large for one word of 16 bits"""

    @property
    def side_by_side(self) -> int:
        """How many trees a large processor walks at once, so that they wait for memory together.

        Measured with cold caches, 25 trees of 1.5 kB: 13 at a time 4.8 µs, one by one 8.4 µs; of 0.3 kB: 2.4, 1.3 µs.
        """
        large = self.n_bytes >= LARGE_TREE * len(self.roots)
        return min(MOST_SIDE_BY_SIDE, len(self.roots)) if large else 1

    @property
    def n_bytes(self) -> int:
        return len(self.words) * self.word_bits // 8 + len(self.roots) * self.root_bits // 8


def make_tree_table(program: Program) -> TreeTable:
    """The table of a program."""
    feature_bits = (program.n_states - 1).bit_length()
    room = program.bits - LEAF_BITS - feature_bits
    wide = not _fits(program, 1, room)
    if wide and (program.bits > 16 or not _fits(program, 2, room + 16)):
        raise ValueError("policy: has a tree too large for a table")
    words: list[int] = []
    roots: list[int] = []
    for forest in program.forests:
        for tree in forest.trees:
            roots.append(len(words))
            words += _tree_words(program, tree, forest.linear, feature_bits, wide)
    return TreeTable(words, roots, program.bits, 16 if roots[-1] < 2**16 else 32, feature_bits, wide)


def leaf_words(program: Program, linear: bool) -> int:
    """Words of a leaf: a linear one of int16 has its intercept in two words."""
    return 1 if not linear else program.n_states + (2 if program.precision == "int16" else 1)


def _fits(program: Program, head: int, room: int) -> bool:
    """Whether all jumps are below 2^room when a head takes `head` words."""
    for forest in program.forests:
        for tree in forest.trees:
            size = tree.sizes(head + 1, leaf_words(program, forest.linear))
            lower = (size[c] for f, c in zip(tree.feature, tree.child, strict=True) if f >= 0)
            if max(lower, default=0) >= 2**room:
                return False
    return True


def _tree_words(program: Program, tree: CodeTree, linear: bool, feature_bits: int, wide: bool) -> list[int]:
    head = 2 if wide else 1
    models = _model_words(program, tree, linear)
    if tree.feature[0] < 0:  # a tree of one leaf: a split whose sides both lead to it
        return [0b11, *[0] * head, *models[0]]
    size = tree.sizes(head + 1, len(models[0]))
    place = [0] * len(size)
    words = [0] * size[0]
    for i, (feature, lower) in enumerate(zip(tree.feature, tree.child, strict=True)):
        at = place[i]
        if feature < 0:
            words[at : at + len(models[0])] = models[lower]
            continue
        leaf = (tree.feature[lower] < 0) | (tree.feature[lower + 1] < 0) << 1
        value = leaf | feature << LEAF_BITS | size[lower] << (LEAF_BITS + feature_bits)
        for h in range(head):
            words[at + h] = _signed(value >> h * program.bits, program.bits)
        words[at + head] = tree.key[i]
        place[lower] = at + head + 1
        place[lower + 1] = at + head + 1 + size[lower]
    return words


def _model_words(program: Program, tree: CodeTree, linear: bool) -> list[list[int]]:
    if program.precision != "int16":
        whole = np.int64 if program.precision == "float64" else np.int32
        words: list[list[int]] = np.ascontiguousarray(tree.models).view(whole).tolist()
        return words
    if not linear:
        return [[int(value)] for (value,) in tree.models]
    # The intercept counts modulo 2^32: sums wrap round, and the value of a leaf in its box fits again.
    return [
        [*map(int, weights), _signed(int(intercept), 16), _signed(int(intercept) >> 16, 16)]
        for *weights, intercept in tree.models.tolist()
    ]


def _signed(value: int, bits: int) -> int:
    """The lowest `bits` as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
