"""What a class gets only later: special methods, properties, and those of its metaclass."""

from types import SimpleNamespace

from tests.run.outside_kinds.register import V, kind


class Made:
    """What a special method gives in place of something else."""

    def __init__(self, value):
        self.a = value


def later(owner, name, *hooks):
    """In the n-th form the owner has the n-th of these, and none at first."""

    def change(n):
        if name in vars(owner):
            delattr(owner, name)
        if n:
            setattr(owner, name, hooks[n - 1])

    return change


def holder(**names):
    """A class whose objects hold what they are made of, and that no other kind touches."""
    return type("Holder", (), {"__init__": lambda self, x: setattr(self, "a", x), **names})


@kind(grad=True)
def attribute_of_a_metaclass_hidden_by_the_class():
    meta = type("Meta", (type,), {"gamma": V[0]})
    cls = meta("Cls", (), {})
    return lambda x: x * cls.gamma, later(cls, "gamma", V[1], V[2])


@kind
def property_of_a_metaclass_before_the_class():
    meta = type("Meta", (type,), {})
    cls = meta("Cls", (), {"gamma": V[0]})
    hooks = (property(lambda cls: V[1]), property(lambda cls: V[2]))
    return lambda x: x * cls.gamma, later(meta, "gamma", *hooks)


@kind
def getattribute_of_a_metaclass():
    meta = type("Meta", (type,), {})
    cls = meta("Cls", (), {"gamma": V[0]})
    hooks = (lambda cls, name: V[1], lambda cls, name: V[2])
    return lambda x: x * cls.gamma, later(meta, "__getattribute__", *hooks)


@kind
def call_of_a_metaclass():
    meta = type("Meta", (type,), {})
    cls = meta("Cls", (), {"__init__": lambda self, x: setattr(self, "a", x)})
    hooks = (lambda cls, x: SimpleNamespace(a=x * V[1]), lambda cls, x: SimpleNamespace(a=x * V[2]))
    return lambda x: cls(x).a, later(meta, "__call__", *hooks)


@kind
def a_metaclass_with_an_equality_and_no_hash():
    meta = type("Meta", (type,), {"__eq__": lambda cls, other: False, "__hash__": None})
    cls = meta("Cls", (), {"__len__": lambda self: 3})
    obj = cls()
    return lambda x: x * obj.alpha * len(obj), lambda n: setattr(obj, "alpha", V[n])


@kind(grad=True)
def getattribute_of_what_is_made_inside():
    cls = holder()
    hooks = (lambda self, name: V[1], lambda self, name: V[2])
    return lambda x: x * cls(x).a, later(cls, "__getattribute__", *hooks)


@kind
def property_of_what_is_made_inside():
    cls = holder()
    hooks = [property(lambda self, v=v: v, lambda self, value: None) for v in V[1:]]
    return lambda x: x * cls(x).a, later(cls, "a", *hooks)


@kind
def property_in_place_of_a_default_of_what_is_made_inside():
    cls = holder()
    hooks = [property(lambda self, v=v: v, lambda self, value: None) for v in V[1:]]
    return lambda x: x * cls(x).a, lambda n: setattr(cls, "a", (7.0, *hooks)[n])


@kind
def setattr_of_what_is_made_inside():
    cls = holder()

    def hook(factor):
        return lambda self, name, value: object.__setattr__(self, name, value * factor)

    return lambda x: cls(x).a, later(cls, "__setattr__", hook(V[1]), hook(V[2]))


@kind
def new_of_what_is_made_inside():
    cls = type("Holder", (Made,), {})
    hooks = [lambda cls, x, v=v: SimpleNamespace(a=x * v) for v in V[1:]]

    def change(n):  # a class keeps what stood for `__new__`: each time it is another
        vars(holds).update(cls=type("Holder", (Made,), {}))
        if n:
            holds.cls.__new__ = hooks[n - 1]

    holds = SimpleNamespace(cls=cls)
    return lambda x: holds.cls(x).a, change


@kind
def new_of_a_class_that_had_none():
    cls, grown = type("Holder", (Made,), {}), []

    def change(n):
        if n and not grown:
            grown.append(n)
            cls.__new__ = lambda cls, x: SimpleNamespace(a=x * V[grown[-1]])
        elif n:
            grown[:] = [n]

    return lambda x: cls(x).a, change


@kind(grad=True)
def truth_of_an_object():
    cls = type("Thing", (), {})
    obj = cls()
    hooks = (lambda self: 0, lambda self: 1)
    return lambda x: x * 2.0 if obj else x * 3.0, later(cls, "__len__", *hooks)


@kind
def equality_of_an_object():
    cls = type("Thing", (), {})
    a, b = cls(), cls()
    hooks = (lambda self, other: True, lambda self, other: False)
    return lambda x: x * 2.0 if a == b else x * 3.0, later(cls, "__eq__", *hooks)


@kind
def contents_of_an_object():
    cls = type("Thing", (), {"__iter__": lambda self: iter((1.0, 2.0))})
    obj = cls()
    hooks = (lambda self, key: False, lambda self, key: True)
    return lambda x: x * 2.0 if 2.0 in obj else x * 3.0, later(cls, "__contains__", *hooks)


@kind
def addition_in_place_of_what_is_made_inside():
    cls = holder(__add__=lambda self, other: Made(self.a + other))

    def f(x):
        total = cls(x)
        total += 1.0
        return total.a

    hooks = [lambda self, other, v=v: Made(self.a * v) for v in V[1:]]
    return f, later(cls, "__iadd__", *hooks)


@kind
def product_from_the_right_with_what_is_made_inside():
    cls = type("Thing", (), {"__array_ufunc__": None})
    hooks = [lambda self, other, v=v: other * v for v in V]
    return lambda x: x * cls(), lambda n: setattr(cls, "__rmul__", hooks[n])


@kind
def entering_and_leaving():
    cls = type("Thing", (), {"__exit__": lambda self, *error: None})
    bound = SimpleNamespace(n=0)

    def change(n):
        bound.n = n
        cls.__enter__ = lambda self: V[n]

    def f(x):
        with cls() as factor:
            return x * factor

    return f, change


@kind(grad=True)
def bases_of_what_is_made_inside():
    bases = [type("Base", (Made,), {"go": lambda self, v=v: self.a * v}) for v in V]
    cls = type("Cls", (bases[0],), {})
    return lambda x: cls(x).go(), lambda n: setattr(cls, "__bases__", (bases[n],))


@kind
def bases_of_a_metaclass():
    metas = [type("Meta", (type,), {"gamma": v}) for v in V]
    meta = type("Lowest", (metas[0],), {})
    cls = meta("Cls", (), {})
    return lambda x: x * cls.gamma, lambda n: setattr(meta, "__bases__", (metas[n],))
