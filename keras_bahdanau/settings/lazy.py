"""Names of a package that are loaded on first use."""

import importlib
import sys


def lazy_names(package, module_of):
    """Make `__getattr__` and `__dir__` of a package whose names load on first use.

    ```python
    __getattr__, __dir__ = lazy_names(__name__, {"BatchedPairs": "batching"})
    ```

    `module_of` maps a name to its module in the package; a name that ends its module's path is the
    module itself.
    """

    def load(name):
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f"{package}.{module_of[name]}")
        is_module = module_of[name].split(".")[-1] == name
        value = module if is_module else getattr(module, name)
        vars(sys.modules[package])[name] = value  # the next use finds it there
        return value

    def names():
        return sorted({*vars(sys.modules[package]), *module_of})

    return load, names
