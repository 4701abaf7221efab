"""The losses of a run of any length in a few points, as it goes."""

from __future__ import annotations

from typing import Any

from chainrule.explain.numbers import as_json


class Curve:
    """Of each stretch of steps the mean, the lowest and the highest; there are at most `most`.

    Where there would be more, stretches become twice as long.
    """

    def __init__(self, most: int = 240):
        self.most, self.width = most, 1
        self.points: list[tuple[int, float, float, float]] = []  # last step, mean, low, high
        self._begin()

    def _begin(self) -> None:
        self.count, self.total = 0, 0.0
        self.low, self.high = float("inf"), float("-inf")

    def add(self, step: int, value: float) -> None:
        self.count += 1
        self.step = step
        self.total += value
        if value < self.low:
            self.low = value
        if value > self.high:
            self.high = value
        if self.count == self.width:
            self.points.append(self._open())
            self._begin()
            if len(self.points) == self.most:
                self._halve()

    def _open(self) -> tuple[int, float, float, float]:
        """The stretch that is not full yet."""
        return self.step, self.total / self.count, self.low, self.high

    def _halve(self) -> None:
        pairs = zip(self.points[::2], self.points[1::2], strict=True)
        self.points = [
            (b[0], (a[1] + b[1]) / 2, min(a[2], b[2]), max(a[3], b[3])) for a, b in pairs
        ]
        self.width *= 2

    def all(self) -> list[tuple[int, float, float, float]]:
        """Every point, the last stretch as far as it goes."""
        return [*self.points, self._open()] if self.count else self.points

    def trend(self) -> str:
        """The last quarter against the one before: "falling", "level", "rising"; "" too early."""
        means = [point[1] for point in self.all()]
        part = len(means) // 4
        if part < 2:
            return ""
        now, before = sum(means[-part:]), sum(means[-2 * part : -part])
        if abs(now - before) <= 0.01 * abs(before):
            return "level"
        return "falling" if now < before else "rising"

    def to_data(self) -> dict[str, Any]:
        """As plain JSON data, in columns."""
        points = self.all()
        columns = {"mean": 1, "low": 2, "high": 3}
        made = {name: [as_json(p[k]) for p in points] for name, k in columns.items()}
        return {"at": [p[0] for p in points], **made}
