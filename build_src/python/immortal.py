"""Make the objects of the stored interpreter immortal: their reference counts never change.

Each run starts from the stored memory, and copies a page of it when it first writes there. Most of
what it would write are reference counts that go up and down again. CPython leaves the counts of
immortal objects alone (Include/refcount.h, PEP 683; 32 bits: a count of 1 << 30 or more is
immortal, and objects are made so with 5 << 28). `sys.getrefcount` shows the difference.

The guest imports this file for `MARK`; the builder calls `make_immortal`.
"""

import struct

MARK = tuple(0x9E3779B1 * n & 0xFFFF_FFFF for n in range(1, 9))
_IMMORTAL, _LEAST_IMMORTAL = 5 << 28, 1 << 30
_SIZE_AT, _ITEMS_AT = 8, 12  # the fields of a `PyListObject`, behind its count and its type


def make_immortal(image: bytearray) -> None:
    """Write the immortal count over those of all objects in the guest's list, and empty the list.

    Raises ValueError if the memory does not look like that of CPython for 32 bits.
    """
    locator = struct.pack("<8I", *MARK)
    at = image.find(locator)
    if at < 0 or image.find(locator, at + 1) >= 0:
        raise ValueError("the list of objects is not in the memory exactly once")
    (listed,) = struct.unpack_from("<I", image, at + len(locator))
    size, items = struct.unpack_from("<II", image, listed + _SIZE_AT)
    addresses = struct.unpack_from(f"<{size}I", image, items)
    for address in addresses:
        count, kind = struct.unpack_from("<II", image, address)
        if address % 4 or not count or not 0 < kind < len(image):
            raise ValueError(f"there is no object at {address:#x}")
        if count < _LEAST_IMMORTAL:
            struct.pack_into("<I", image, address, _IMMORTAL)
    image[items : items + 4 * size] = bytes(4 * size)
    struct.pack_into("<I", image, listed + _SIZE_AT, 0)
