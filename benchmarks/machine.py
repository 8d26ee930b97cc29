"""Description of the machine that a row is measured on."""

import os
import pathlib
import platform


def described():
    """Return a dictionary: processor, cores, memory, vector instructions, system and load."""
    return {
        "processor": _field("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(_memory() / 2**30, 1),
        "instructions": [name for name in _INSTRUCTIONS if name in _flags()],
        "system": f"{platform.system()} {platform.machine()}",
        "load_before": round(os.getloadavg()[0], 2),
    }


_INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16")


def has_bfloat16():
    """Return True if the processor has bfloat16 multiplication."""
    return bool({"avx512_bf16", "amx_bf16"} & set(_flags()))


def _flags():
    return (_field("/proc/cpuinfo", "flags") or "").split()


def _memory():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _field(path, name):
    path = pathlib.Path(path)
    if not path.exists():
        return None
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None
