"""libsmelt.so, through its C header capi/smelt.h."""
from __future__ import annotations

import ctypes
import functools
import json
import os
import pathlib
from typing import Any

from smelt.program import ProgramError, find_built

TEXT, PROTO = 0, 1


class SmeltError(ValueError):
    """What was asked for cannot be done; the text is the library's own."""


@functools.cache
def library() -> ctypes.CDLL:
    """$SMELT_LIBRARY, else build/release/libsmelt.so of the checkout, else what the system's loader finds."""
    named = os.environ.get("SMELT_LIBRARY")
    built, tried = find_built("libsmelt.so")
    path = named or (str(built) if built else "libsmelt.so")
    try:
        loaded = ctypes.CDLL(path)
    except OSError as error:
        raise ProgramError(f"the library libsmelt.so is not found ({error}; tried $SMELT_LIBRARY, {', '.join([*tried, 'the system'])}). "
                           "Build it in the checkout with `cmake --preset release && cmake --build --preset release`") from None
    pointer, text, error = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)
    size = ctypes.POINTER(ctypes.c_size_t)
    for name, result, arguments in (
            ("free", None, [pointer]),
            ("module_read", pointer, [text, ctypes.c_size_t, ctypes.c_int, text, error]),
            ("module_delete", None, [pointer]),
            ("module_text", pointer, [pointer]),
            ("module_proto", pointer, [pointer, size, error]),
            ("module_inspect", pointer, [pointer, error]),
            ("module_fuse", pointer, [pointer, text, text, ctypes.c_int, error]),
            ("predictor_open", pointer, [text, text, error]),
            ("predictor_delete", None, [pointer]),
            ("predictor_describe", pointer, [pointer]),
            ("predict", pointer, [pointer, pointer, error]),
            ("rank", pointer, [pointer, pointer, text, ctypes.c_int64, ctypes.c_int64, error])):
        function = getattr(loaded, f"smelt_{name}")
        function.restype, function.argtypes = result, arguments
    return loaded


def _take(address: int, size: int | None = None) -> bytes:
    """Bytes of the library's, which it then gives back."""
    try:
        return ctypes.string_at(address) if size is None else ctypes.string_at(address, size)
    finally:
        library().smelt_free(address)


def call(name: str, *arguments: Any) -> int:
    """An address that is not null. SmeltError with the library's message otherwise."""
    error = ctypes.c_void_p()
    address = getattr(library(), f"smelt_{name}")(*arguments, ctypes.byref(error))
    if address is None:
        raise SmeltError(_take(error.value).decode(errors="replace") if error.value else "out of memory")
    return address


def call_text(name: str, *arguments: Any) -> str:
    return _take(call(name, *arguments)).decode(errors="surrogateescape")


def call_json(name: str, *arguments: Any) -> Any:
    return json.loads(_take(call(name, *arguments)))


def call_bytes(name: str, handle: int) -> bytes:
    size = ctypes.c_size_t()
    return _take(call(name, handle, ctypes.byref(size)), size.value)


def read_text(name: str, handle: int) -> str:
    """Of a function that does not fail."""
    return _take(getattr(library(), f"smelt_{name}")(handle)).decode(errors="surrogateescape")
