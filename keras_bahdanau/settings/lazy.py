"""Lazy loading: names of a package that are imported on first use, by Python or by Keras."""

import importlib
import importlib.abc
import sys
from pathlib import Path

_EXTRA_OF = {"ai_edge_litert": "litert", "flatbuffers": "litert", "matplotlib": "plot"}
_BACKENDS = {"jax", "tensorflow", "torch"}


def lazy_names(package, module_of):
    """Create `__getattr__` and `__dir__` for a package whose names are imported on first use.

    ```python
    __getattr__, __dir__ = lazy_names(__name__, {"BatchedPairs": "batching"})
    ```

    `module_of` maps a name to its module in the package, or, with a leading dot, in the parent
    package. If the path of the module ends in the name, the name is the module itself. An unknown
    name raises an AttributeError that suggests the closest name. A missing package raises an
    ImportError that names the extra to install.
    """

    def load(name):
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{advice(name)}")
        try:
            module = importlib.import_module(f".{module_of[name]}", package)
        except ModuleNotFoundError as error:
            message = missing_package(f"{package}.{name}", error)
            if not message:
                raise
            raise ImportError(message, name=error.name) from error
        is_module = module_of[name].split(".")[-1] == name
        value = module if is_module else getattr(module, name)
        vars(sys.modules[package])[name] = value  # so that the next use is fast
        return value

    def names():
        return sorted({*vars(sys.modules[package]), *module_of})

    def advice(name):
        if name.startswith("_"):  # requested by programs, not by users
            return ""
        from keras_bahdanau.settings.guesses import nearest, nearest_name  # slow

        inside = _names_inside(package, module_of)
        public = {known: known for known in names() if not known.startswith("_")}
        for paths in ({name: inside[name]} if name in inside else {}, public, inside):
            nearest_path = paths.get(nearest_name(name, paths))
            if nearest_path is not None:
                return nearest(nearest_path, [nearest_path])
        return ""

    return load, names


def missing_package(user, error):
    """Return a message about a missing package that a name or command needs.

    Returns "" if the missing module is one of this package.
    """
    missing = (error.name or "").partition(".")[0]
    if missing in ("", "keras_bahdanau"):
        return ""
    extra = _EXTRA_OF.get(missing, "all")
    advice = f"Install it: pip install 'keras-bahdanau[{extra}]'"
    if "keras" not in sys.modules and missing in _BACKENDS:  # importing Keras failed
        advice = "Install it, or choose an installed backend: KERAS_BACKEND=jax, for example."
    return f"{user} needs the package {missing}. Received: an environment without it. {advice}"


def register_lazily(package, modules):
    """Register classes with Keras as soon as Keras is imported, without importing their modules.

    `keras.saving.load_model` can then find them in a process that has only imported the package.
    `modules` is a function that returns a dictionary from the modules of the package to the names
    of their classes. It is called at registration. When a class is defined, its decorator replaces
    its stand-in.
    """

    def register():
        registered_classes = sys.modules["keras"].saving.get_custom_objects()
        for module, classes in modules().items():
            for name in classes:
                stand_in = _stand_in(f"{package}.{module}", name)
                registered_classes.setdefault(f"{package}>{name}", stand_in)

    if sys.modules.get("keras") is not None:
        importlib.import_module("keras")  # wait until another thread has imported it
        register()
    else:
        sys.meta_path.insert(0, _ImportHook("keras", register))


def _stand_in(module, name):
    """Create a class that Keras finds by its registered name, and that creates the real object."""

    def real_class():
        return getattr(importlib.import_module(module), name)

    def new(cls, *args, **kwargs):
        return real_class()(*args, **kwargs)

    def make_from_config(cls, config):
        return real_class().from_config(config)

    return type(name, (), {"__new__": new, "from_config": classmethod(make_from_config)})


class _ImportHook(importlib.abc.MetaPathFinder):
    """Finder that calls `act` after a module is imported, and then removes itself."""

    def __init__(self, module_name, act):
        self.module_name, self.act = module_name, act

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.module_name:
            return None
        finders = [finder for finder in sys.meta_path if not isinstance(finder, _ImportHook)]
        specs = (finder.find_spec(fullname, path, target) for finder in finders)
        spec = next(filter(None, specs), None)
        if spec is not None and spec.loader is not None:
            self._call_after_loading(spec.loader)
        return spec

    def _call_after_loading(self, loader):
        load = loader.exec_module

        def exec_module(module):
            loader.exec_module = load
            load(module)
            if self in sys.meta_path:  # still there after a failed import
                sys.meta_path.remove(self)
                self.act()

        loader.exec_module = exec_module


def _names_inside(package, module_of):
    """Return a dictionary from public names to their paths, for lazy subpackages of a package."""
    root = Path(sys.modules[package].__file__).parent
    paths = {}
    for part in sorted({*module_of.values()}):
        file = root / part / "__init__.py"
        if file.is_file() and "lazy_names(" in file.read_text(encoding="utf-8"):
            for name in importlib.import_module(f"{package}.{part}").__all__:
                paths.setdefault(name, f"{part}.{name}")
    return paths
