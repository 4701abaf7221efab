"""How convolutions work on many lanes at once: the lanes are merged into an axis of one of them.

Where only the images differ by lane, that is the axis of images; where weights or results do, the
axis of their channels, within each group; and where both do, each lane is a group of its own.
"""

from __future__ import annotations

from typing import Any

from chainrule.core.batching import BatchCall, merged, parted


def conv_lanes(call: BatchCall) -> Any:
    (x, w), count, groups = (call.raw(0), call.raw(1)), call.count, call.attrs["groups"]
    if not call.on(1):
        return parted(call.call(merged(x, 0), w), 0, count)
    if not call.on(0):
        return parted(call.call(x, merged(w, 0, groups)), 1, count, groups)
    return parted(call.call(merged(x, 1), merged(w, 0), groups=groups * count), 1, count)


def conv_transpose_lanes(call: BatchCall) -> Any:
    (x, w), count, groups = (call.raw(0), call.raw(1)), call.count, call.attrs["groups"]
    if not call.on(1):
        return parted(call.call(merged(x, 0), w), 0, count)
    if not call.on(0):
        return parted(call.call(x, merged(w, 1)), 1, count, groups)
    return parted(call.call(merged(x, 1), merged(w, 0), groups=groups * count), 1, count)


def conv_weight_lanes(call: BatchCall) -> Any:
    (x, y), count, groups = (call.raw(0), call.raw(1)), call.count, call.attrs["groups"]
    if not call.on(1):
        return parted(call.call(merged(x, 1, groups), y), 1, count)
    if not call.on(0):
        return parted(call.call(x, merged(y, 1, groups)), 0, count, groups)
    return parted(call.call(merged(x, 1), merged(y, 1), groups=groups * count), 0, count)
