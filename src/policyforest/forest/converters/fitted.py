"""The check of the boosting libraries' estimators: a model must be of the right kind, and fitted."""

from __future__ import annotations

from typing import Any


def require_fitted(model: Any, kind: type[Any], library: str, wanted: str) -> None:
    if not isinstance(model, kind):
        raise TypeError(f"model: {type(model).__name__} is not supported; a model of {library} must be {wanted}")
    if not model.__sklearn_is_fitted__():
        raise ValueError(f"model: this {type(model).__name__} is not fitted; call its fit first")
