"""The version of this package, which the build takes from the newest git tag (`setuptools_scm` in pyproject.toml)."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("policyforest")
except PackageNotFoundError:  # the sources are on the path without an installation
    __version__ = "0+unknown"
