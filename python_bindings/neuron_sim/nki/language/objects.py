"""Classes whose objects kernels may use."""


class NKIObject:
    """Base of classes that kernels take as arguments: annotated fields become attributes.

    A subclass without its own __init__ takes its fields by position or by name.
    """

    def __init__(self, *args, **kwargs):
        fields = [name for each in reversed(type(self).__mro__)
                  for name in each.__dict__.get("__annotations__", {})]  # fmt: skip
        if len(args) > len(fields):
            raise TypeError(
                f"{type(self).__name__}() takes {len(fields)} fields, {len(args)} were given."
            )
        values = dict(zip(fields, args, strict=False))
        for name, value in kwargs.items():
            if name not in fields or name in values:
                raise TypeError(f"{type(self).__name__}() has no further field '{name}'.")
            values[name] = value
        for name in fields:
            if name in values:
                setattr(self, name, values[name])
            elif not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__}(): field '{name}' has no value.")
