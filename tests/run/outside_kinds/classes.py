"""Attributes of objects and classes, in all the ways in which Python finds one."""

import functools

from tests.run.outside_kinds.register import V, kind


class Plain:
    """An object that anything may be set on."""

    def __init__(self, **values):
        vars(self).update(values)


def setter(owner, name="alpha"):
    return lambda n: setattr(owner, name, V[n])


def new_class(*bases, **names):
    """A class of its own, so that no kind leaves something behind in another's."""
    return type("Fresh", bases or (object,), names)


@kind(grad=True)
def attribute():
    obj = Plain()
    return lambda x: x * obj.alpha, setter(obj)


@kind(grad=True)
def attribute_by_getattr():
    obj = Plain()
    return lambda x: x * getattr(obj, "alpha"), setter(obj)  # noqa: B009 - this is the kind


@kind
def attribute_by_getattr_and_a_name_outside():
    obj, names = Plain(one=2.0, two=3.0, three=5.0), ["one"]
    change = lambda n: names.__setitem__(0, ("one", "two", "three")[n])
    return lambda x: x * getattr(obj, names[0]), change


@kind
def attribute_by_getattr_with_a_default():
    obj = Plain()

    def change(n):
        vars(obj).clear()
        if n:
            obj.alpha = V[n]

    return lambda x: x * getattr(obj, "alpha", 7.0), change


@kind
def attribute_asked_by_hasattr():
    obj = Plain()

    def change(n):
        vars(obj).clear()
        if n == 1:
            obj.alpha = None

    return lambda x: x * 2 if hasattr(obj, "alpha") else x, change


@kind
def attribute_through_vars():
    obj = Plain()
    return lambda x: x * vars(obj)["alpha"], lambda n: vars(obj).update(alpha=V[n])


@kind
def attributes_summed_through_vars():
    obj = Plain(one=1.0)

    def change(n):
        vars(obj).pop("more", None)
        if n:
            obj.more = V[n]

    return lambda x: x * sum(vars(obj).values()), change


@kind
def attributes_counted_by_dir():
    obj = Plain()

    def change(n):
        vars(obj).clear()
        for i in range(n):
            setattr(obj, f"name{i}", 1)

    return lambda x: x * len([name for name in dir(obj) if name.startswith("name")]), change


@kind(grad=True)
def dict_of_an_object_is_replaced():
    obj = Plain()
    return lambda x: x * obj.alpha, lambda n: setattr(obj, "__dict__", {"alpha": V[n]})


@kind
def attribute_by_object_getattribute():
    obj = Plain()
    return lambda x: x * object.__getattribute__(obj, "alpha"), setter(obj)


@kind(grad=True)
def class_attribute():
    cls = new_class()
    return lambda x: x * cls.alpha, setter(cls)


@kind
def class_attribute_by_getattr():
    cls = new_class()
    return lambda x: x * getattr(cls, "alpha"), setter(cls)  # noqa: B009 - this is the kind


@kind(grad=True)
def class_attribute_through_an_instance():
    cls = new_class()
    obj = cls()
    return lambda x: x * obj.alpha, setter(cls)


@kind
def class_attribute_is_shadowed_by_an_instance():
    obj = new_class(alpha=2.0)()

    def change(n):
        vars(obj).clear()
        if n:
            obj.alpha = V[n]

    return lambda x: x * obj.alpha, change


@kind(grad=True)
def class_attribute_is_inherited():
    base = new_class()
    obj = new_class(new_class(base))()
    return lambda x: x * obj.alpha, setter(base)


@kind
def class_attribute_is_overridden_between():
    base = new_class(alpha=2.0)
    middle = new_class(base)
    obj = new_class(middle)()

    def change(n):
        if "alpha" in vars(middle):
            del middle.alpha
        if n:
            middle.alpha = V[n]

    return lambda x: x * obj.alpha, change


@kind
def bases_are_replaced():
    bases = [new_class(alpha=v) for v in V]
    cls = new_class(bases[0])
    obj = cls()
    return lambda x: x * obj.alpha, lambda n: setattr(cls, "__bases__", (bases[n],))


@kind(grad=True)
def class_of_an_object_is_replaced():
    classes = [new_class(alpha=v) for v in V]
    obj = classes[0]()
    return lambda x: x * obj.alpha, lambda n: setattr(obj, "__class__", classes[n])


@kind
def class_of_an_object_is_asked():
    classes = [type(name, (), {}) for name in ("A", "Bb", "Ccc")]
    obj = classes[0]()
    change = lambda n: setattr(obj, "__class__", classes[n])
    return lambda x: x * len(type(obj).__name__), change


@kind
def metaclass_attribute():
    meta = new_class(type)
    cls = meta("Cls", (), {})
    return lambda x: x * cls.alpha, setter(meta)


@kind
def metaclass_property():
    state = [0.0]
    meta = new_class(type, alpha=property(lambda cls: state[0]))
    cls = meta("Cls", (), {})
    return lambda x: x * cls.alpha, lambda n: state.__setitem__(0, V[n])


@kind
def metaclass_len():
    state = [0]
    meta = new_class(type, __len__=lambda cls: state[0])
    cls = meta("Cls", (), {})
    return lambda x: x * len(cls), lambda n: state.__setitem__(0, n + 2)


@kind(grad=True)
def property_of_an_attribute():
    cls = new_class(alpha=property(lambda self: self._alpha * 2))
    obj = cls()
    return lambda x: x * obj.alpha, setter(obj, "_alpha")


@kind
def property_is_replaced():
    cls = new_class()
    obj = cls()
    change = lambda n: setattr(cls, "alpha", property(lambda self: V[n]))
    return lambda x: x * obj.alpha, change


@kind
def property_of_a_property():
    cls = new_class(
        one=property(lambda self: self.two + 1), two=property(lambda self: self.three * 2)
    )
    obj = cls()
    return lambda x: x * obj.one, setter(obj, "three")


@kind(grad=True)
def slots():
    obj = new_class(__slots__=("alpha",))()
    return lambda x: x * obj.alpha, setter(obj)


@kind
def slot_is_deleted():
    obj = new_class(__slots__=("alpha",))()

    def change(n):
        obj.alpha = V[n]
        if n == 1:
            del obj.alpha

    return lambda x: x * getattr(obj, "alpha", 9.0), change


@kind
def getattr_dunder():
    state = {}
    obj = new_class(__getattr__=lambda self, name: state[name])()
    return lambda x: x * obj.alpha, lambda n: state.update(alpha=V[n])


@kind
def getattr_dunder_is_preempted():
    obj = new_class(__getattr__=lambda self, name: len(name) * 1.0)()

    def change(n):
        vars(obj).clear()
        if n:
            obj.alpha = V[n]

    return lambda x: x * obj.alpha, change


@kind
def getattribute_dunder():
    state = {}
    obj = new_class(__getattribute__=lambda self, name: state[name])()
    return lambda x: x * obj.alpha, lambda n: state.update(alpha=V[n])


@kind
def getattribute_dunder_with_super():
    class Logged:
        def __getattribute__(self, name):
            return super().__getattribute__(name)

    obj = Logged()
    return lambda x: x * obj.alpha, setter(obj)


@kind(grad=True)
def descriptor():
    class Scaled:
        factor = 1.0

        def __get__(self, obj, owner):
            return self.factor * obj.base

    scaled = Scaled()
    obj = new_class(alpha=scaled, base=3.0)()
    return lambda x: x * obj.alpha, setter(scaled, "factor")


@kind
def descriptor_on_a_class():
    class Scaled:
        factor = 1.0

        def __get__(self, obj, owner):
            return self.factor

    cls = new_class(alpha=Scaled())
    return lambda x: x * cls.alpha, setter(Scaled, "factor")


@kind
def cached_property_is_dropped():
    class Model:
        @functools.cached_property
        def alpha(self):
            return self.base * 2

    obj = Model()
    obj.alpha_was = 0

    def change(n):
        obj.base = V[n]
        vars(obj).pop("alpha", None)
        obj.alpha  # noqa: B018 - which fills it

    return lambda x: x * obj.alpha, change


@kind
def cached_property_is_kept():
    class Model:
        base = 2.0

        @functools.cached_property
        def alpha(self):
            return self.base * 2

    obj = Model()
    return lambda x: x * obj.alpha + obj.base, setter(obj, "base")
