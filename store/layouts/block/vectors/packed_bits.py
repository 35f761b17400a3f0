"""Packs unsigned numbers of equal width, 0 to 56 or 64 bits, one after the other, the lowest bit first.

``SPARE`` bytes follow the last number, so that servers can read any number as part of 8 bytes.
"""

from __future__ import annotations

import numpy as np

SPARE = 7
_WIDEST = 56
_TOGETHER = 8
"""So many numbers of n bits fill n bytes."""
_WORD_BITS = 64


def find_bit_width(most: int) -> int:
    """Returns the width in bits that holds ``most``: 0 for 0, and 64 for what needs more than 56."""
    width = most.bit_length()
    return width if width <= _WIDEST else _WORD_BITS


def count_packed_bytes(count: int, width: int) -> int:
    """Returns the length of ``count`` packed numbers in bytes."""
    return -(-count * width // 8) + SPARE


def pack_bits(numbers: np.ndarray, width: int) -> bytes:
    """Returns numbers packed. None may need more than ``width`` bits."""
    size = count_packed_bytes(len(numbers), width)
    if width == _WORD_BITS:
        return numbers.astype("<u8").tobytes() + bytes(SPARE)
    if width == 0:
        return bytes(size)
    if width <= 2 * _TOGETHER:
        packed = _pack_by_words(numbers, width)
    else:
        whole = np.unpackbits(numbers.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        packed = np.packbits(whole[:, :width].reshape(-1), bitorder="little")
    return packed.tobytes()[: size - SPARE].ljust(size, b"\0")


def _pack_by_words(numbers: np.ndarray, width: int) -> np.ndarray:
    """Returns numbers of at most 16 bits packed: each eight of them as one or two words, cut to ``width`` bytes."""
    groups = np.zeros((-(-len(numbers) // _TOGETHER), _TOGETHER), np.uint64)
    groups.reshape(-1)[: len(numbers)] = numbers
    half = _TOGETHER // 2
    low, high = groups[:, 0].copy(), groups[:, half].copy()
    for i in range(1, half):
        low |= groups[:, i] << np.uint64(i * width)
        high |= groups[:, half + i] << np.uint64(i * width)
    words = np.zeros((len(groups), 2), "<u8")
    shift = half * width
    if shift == _WORD_BITS:
        words[:, 0], words[:, 1] = low, high
    else:
        words[:, 0] = low | high << np.uint64(shift)
        words[:, 1] = high >> np.uint64(_WORD_BITS - shift)
    return words.view(np.uint8).reshape(-1, 16)[:, :width].reshape(-1)


def unpack_bits(packed: memoryview, count: int, width: int) -> np.ndarray:
    """Returns ``count`` packed numbers, uint64. ``packed`` has their bytes, of which there are enough."""
    if width == 0:
        return np.zeros(count, np.uint64)
    data = np.frombuffer(packed, np.uint8)
    starts = np.arange(count, dtype=np.int64) * width
    places = starts >> 3
    words = np.zeros(count, np.uint64)
    for i in range(8):
        words |= data[places + i].astype(np.uint64) << np.uint64(8 * i)
    words >>= (starts & 7).astype(np.uint64)
    return words if width == _WORD_BITS else words & np.uint64((1 << width) - 1)
