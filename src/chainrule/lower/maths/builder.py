"""Lines of LLVM IR for one function, written with Python's operators, over any number of lanes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

Chosen = TypeVar("Chosen")


@dataclass(frozen=True, slots=True)
class Format:
    """A floating-point format, with the integer type of the same width."""

    name: str
    element: str
    integer: str
    mantissa: int
    bias: int

    @property
    def width(self) -> int:
        return 64 if self.element == "double" else 32

    @property
    def sign(self) -> int:
        return 1 << (self.width - 1)

    @property
    def magic(self) -> float:
        """1.5·2^mantissa: adding it rounds to a whole number, which stands in the lowest bits."""
        return 1.5 * 2.0**self.mantissa

    def bits(self, number: float) -> int:
        """The pattern of a number as an unsigned integer."""
        kinds = ("<d", "<Q") if self.element == "double" else ("<f", "<I")
        return int(struct.unpack(kinds[1], struct.pack(kinds[0], number))[0])

    def nearest(self, number: float) -> float:
        if self.element == "double":
            return number
        return float(struct.unpack("<f", struct.pack("<f", number))[0])


FORMATS = {
    "f64": Format("f64", "double", "i64", 52, 1023),
    "f32": Format("f32", "float", "i32", 23, 127),
}
SUFFIXES = {"double": "f64", "float": "f32", "i64": "i64", "i32": "i32", "i1": "i1"}
FLOATS = ("double", "float")


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """A result or constant in every lane; its operators write the instruction that they name.

    A comparison gives a mask (lanes of i1), for which &, | and ~ are and, or and not. It is false
    where a side is NaN, except `differs`.
    """

    writer: Writer
    element: str
    text: str

    def __add__(self, other: Operand) -> Vector:
        return self.writer.binary("add", self, other)

    def __radd__(self, other: Operand) -> Vector:
        return self.writer.binary("add", other, self)

    def __sub__(self, other: Operand) -> Vector:
        return self.writer.binary("sub", self, other)

    def __rsub__(self, other: Operand) -> Vector:
        return self.writer.binary("sub", other, self)

    def __mul__(self, other: Operand) -> Vector:
        return self.writer.binary("mul", self, other)

    def __rmul__(self, other: Operand) -> Vector:
        return self.writer.binary("mul", other, self)

    def __truediv__(self, other: Operand) -> Vector:
        return self.writer.binary("div", self, other)

    def __rtruediv__(self, other: Operand) -> Vector:
        return self.writer.binary("div", other, self)

    def __and__(self, other: Operand) -> Vector:
        return self.writer.binary("and", self, other)

    def __or__(self, other: Operand) -> Vector:
        return self.writer.binary("or", self, other)

    def __xor__(self, other: Operand) -> Vector:
        return self.writer.binary("xor", self, other)

    def __lshift__(self, count: Operand) -> Vector:
        return self.writer.binary("shl", self, count)

    def __rshift__(self, count: Operand) -> Vector:
        """Shift right, copies of the sign coming in."""
        return self.writer.binary("ashr", self, count)

    def shift_in_zeros(self, count: Operand) -> Vector:
        return self.writer.binary("lshr", self, count)

    def __invert__(self) -> Vector:
        return self ^ -1 if self.element != "i1" else self ^ 1

    def __neg__(self) -> Vector:
        if self.element not in FLOATS:
            return 0 - self
        return self.writer.write(self.element, f"fneg {self.writer.type(self.element)} {self}")

    def __lt__(self, other: Operand) -> Vector:
        return self.writer.compare("lt", self, other)

    def __le__(self, other: Operand) -> Vector:
        return self.writer.compare("le", self, other)

    def __gt__(self, other: Operand) -> Vector:
        return self.writer.compare("gt", self, other)

    def __ge__(self, other: Operand) -> Vector:
        return self.writer.compare("ge", self, other)

    def equals(self, other: Operand) -> Vector:
        return self.writer.compare("eq", self, other)

    def differs(self, other: Operand) -> Vector:
        return self.writer.compare("ne", self, other)

    def below_unsigned(self, other: Operand) -> Vector:
        return self.writer.compare("ult", self, other)

    @property
    def is_nan(self) -> Vector:
        return self.writer.compare("uno", self, 0.0)

    @property
    def bits(self) -> Vector:
        """The pattern of a float as an integer of the same width."""
        return self.writer.convert("bitcast", self, "i64" if self.element == "double" else "i32")

    @property
    def float(self) -> Vector:
        """The float whose pattern this integer is."""
        return self.writer.convert("bitcast", self, "double" if self.element == "i64" else "float")

    def __str__(self) -> str:
        return self.text


Operand = Vector | float | int


@dataclass(slots=True)
class Writer:
    """Writes the body of one function; `declares`, `needs` and `cold` grow with what it calls.

    `needs` are texts of the same module, `cold` whole modules, each for one rare function.
    """

    format: Format
    lanes: int
    lines: list[str] = field(default_factory=list)
    declares: set[str] = field(default_factory=set)
    needs: dict[str, str] = field(default_factory=dict)
    cold: dict[str, str] = field(default_factory=dict)
    names: int = 0
    block: str = "entry"

    def type(self, element: str) -> str:
        return element if self.lanes == 1 else f"<{self.lanes} x {element}>"

    def given(self, choice: Mapping[str, Chosen]) -> Chosen:
        """What is kept for this writer's format in a table {"f64": …, "f32": …}."""
        return choice[self.format.name]

    def constant(self, number: float | int, element: str | None = None) -> Vector:
        element = element or self.format.element
        if element in FLOATS:
            # LLVM wants the digits of the double, also for a float.
            kind = FORMATS[SUFFIXES[element]]
            text = f"0x{FORMATS['f64'].bits(kind.nearest(number)):016X}"
        else:
            text = ("true" if number else "false") if element == "i1" else str(int(number))
        return Vector(self, element, text if self.lanes == 1 else f"splat ({element} {text})")

    def write(self, element: str, instruction: str) -> Vector:
        self.names += 1
        name = f"%v{self.names}"
        self.lines.append(f"  {name} = {instruction}")
        return Vector(self, element, name)

    def same(self, *operands: Operand) -> list[Vector]:
        """The operands as values, numbers taking the element type of the first value."""
        element = next(operand.element for operand in operands if isinstance(operand, Vector))
        return [o if isinstance(o, Vector) else self.constant(o, element) for o in operands]

    def binary(self, operation: str, left: Operand, right: Operand) -> Vector:
        a, b = self.same(left, right)
        if a.element in FLOATS:
            operation = f"f{operation}"
        return self.write(a.element, f"{operation} {self.type(a.element)} {a}, {b}")

    def compare(self, relation: str, left: Operand, right: Operand) -> Vector:
        a, b = self.same(left, right)
        if a.element in FLOATS:
            ordered = (
                relation if relation == "uno" else ("u" if relation == "ne" else "o") + relation
            )
            return self.write("i1", f"fcmp {ordered} {self.type(a.element)} {a}, {b}")
        signed = relation if relation in ("eq", "ne", "ult") else f"s{relation}"
        return self.write("i1", f"icmp {signed} {self.type(a.element)} {a}, {b}")

    def convert(self, conversion: str, value: Vector, element: str) -> Vector:
        source, target = self.type(value.element), self.type(element)
        return self.write(element, f"{conversion} {source} {value} to {target}")

    def select(self, mask: Vector, yes: Operand, no: Operand) -> Vector:
        """`yes` in the lanes where the mask is true, `no` in the others."""
        if not isinstance(yes, Vector) and not isinstance(no, Vector):
            yes = self.constant(yes)
        a, b = self.same(yes, no)
        kind = self.type(a.element)
        return self.write(a.element, f"select {self.type('i1')} {mask}, {kind} {a}, {kind} {b}")

    def intrinsic(self, name: str, *operands: Operand) -> Vector:
        """A call of llvm.<name>, overloaded on the type of its operands alone."""
        values = self.same(*operands)
        element = values[0].element
        kind = self.type(element)
        lanes = "" if self.lanes == 1 else f"v{self.lanes}"
        symbol = f"@llvm.{name}.{lanes}{SUFFIXES[element]}"
        self.declares.add(f"declare {kind} {symbol}({', '.join([kind] * len(values))})")
        arguments = ", ".join(f"{kind} {value}" for value in values)
        return self.write(element, f"call {kind} {symbol}({arguments})")

    def fma(self, a: Operand, b: Operand, c: Operand) -> Vector:
        """a·b + c, rounded once."""
        return self.intrinsic("fma", a, b, c)

    def abs(self, x: Vector) -> Vector:
        return self.intrinsic("fabs", x)

    def sqrt(self, x: Vector) -> Vector:
        return self.intrinsic("sqrt", x)

    def copysign(self, x: Operand, sign: Operand) -> Vector:
        return self.intrinsic("copysign", x, sign)

    def at_most(self, x: Vector, bound: Operand) -> Vector:
        """The smaller of both; NaN stays NaN, and it is one instruction."""
        return self.select(x > bound, bound, x)

    def at_least(self, x: Vector, bound: Operand) -> Vector:
        return self.select(x < bound, bound, x)

    def polynomial(self, x: Vector, coefficients: Sequence[Operand]) -> Vector:
        """c₀ + c₁x + c₂x² + … by Horner's rule."""
        *rest, last = coefficients
        total = last if isinstance(last, Vector) else self.constant(last, x.element)
        for coefficient in reversed(rest):
            total = self.fma(total, x, coefficient)
        return total

    def long_polynomial(self, x: Vector, coefficients: Sequence[Operand]) -> Vector:
        """The same with even and odd powers side by side, which halves the time until it is there.

        It rounds more: only for terms that are small beside what they are added to.
        """
        square = x * x
        even, odd = (self.polynomial(square, coefficients[i::2]) for i in (0, 1))
        return self.fma(odd, x, even)

    def short_polynomial(self, x: Vector, coefficients: Sequence[Operand]) -> Vector:
        """The same in pairs, pairs of pairs, …: it is there after as few steps as can be.

        It rounds more, too.
        """
        terms: list[Operand] = list(coefficients)
        while len(terms) > 1:
            pairs: list[Operand] = [
                self.fma(b, x, a) for a, b in zip(terms[::2], terms[1::2], strict=False)
            ]
            terms = pairs + terms[len(terms) - len(terms) % 2 :]
            x = x * x
        assert isinstance(terms[0], Vector)
        return terms[0]

    def rarely(
        self, mask: Vector, usual: tuple[Vector, ...], unusual: Callable[[], tuple[Vector, ...]]
    ) -> tuple[Vector, ...]:
        """The usual values, or what `unusual` writes: it runs if the mask is true in some lane.

        All lanes then take the unusual values, so that these must be the usual ones, to the bit, in
        the lanes where the mask is false.
        """
        self.names += 1
        rare, after = f"rare{self.names}", f"after{self.names}"
        before = self.block
        self.lines += [f"  br i1 {self.any(mask)}, label %{rare}, label %{after}", f"{rare}:"]
        self.block = rare
        others = unusual()
        rare = self.block  # where a branch within ended
        self.lines += [f"  br label %{after}", f"{after}:"]
        self.block = after
        return tuple(
            self.write(a.element, f"phi {self.type(a.element)} [{a}, %{before}], [{b}, %{rare}]")
            for a, b in zip(usual, others, strict=True)
        )

    def call(self, symbol: str, results: Sequence[str], *values: Vector) -> list[Vector]:
        """A call of one of our functions, which returns a structure of the given elements."""
        kind = "{" + ", ".join(self.type(element) for element in results) + "}"
        arguments = ", ".join(f"{self.type(value.element)} {value}" for value in values)
        found = self.write("", f"call {kind} {symbol}({arguments})")
        return [
            self.write(element, f"extractvalue {kind} {found}, {i}")
            for i, element in enumerate(results)
        ]

    def any(self, mask: Vector) -> str:
        """The name of an i1: whether the mask is true in a lane."""
        if self.lanes == 1:
            return mask.text
        symbol = f"@llvm.vector.reduce.or.v{self.lanes}i1"
        self.declares.add(f"declare i1 {symbol}({self.type('i1')})")
        return self.write("i1", f"call i1 {symbol}({self.type('i1')} {mask})").text


def cold_function(
    writer: Writer, symbol: str, arguments: Sequence[Vector], results: Sequence[Vector]
) -> str:
    """The text of a function that is called rarely and never inlined; it returns a structure."""
    kinds = [writer.type(result.element) for result in results]
    structure = "{" + ", ".join(kinds) + "}"
    head = ", ".join(f"{writer.type(argument.element)} {argument}" for argument in arguments)
    lines = [f"define {structure} {symbol}({head}) noinline cold nounwind {{"]
    lines += ["entry:", *writer.lines]
    last = "poison"
    for i, (kind, result) in enumerate(zip(kinds, results, strict=True)):
        lines.append(f"  %out{i} = insertvalue {structure} {last}, {kind} {result}, {i}")
        last = f"%out{i}"
    return "\n".join([*lines, f"  ret {structure} {last}", "}", ""])
