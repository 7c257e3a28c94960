"""Parts of fairexp that need more than NumPy, and the one line that says which extra is missing."""

from __future__ import annotations

from importlib.util import find_spec

from fairexp.errors import MissingExtraError


def require(extra: str, what: str, *modules: str) -> None:
    """Raise a `MissingExtraError` if one of `modules`, which `what` needs, is not installed.

    >>> require("lab", "fairexp.lab", "numpy")
    >>> require("lab", "fairexp.lab", "numpy", "no_such_module")
    Traceback (most recent call last):
    fairexp.errors.MissingExtraError: fairexp.lab needs no_such_module. Install it: pip install 'fairexp[lab]'
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise MissingExtraError(f"{what} needs {', '.join(missing)}. Install it: pip install 'fairexp[{extra}]'")
