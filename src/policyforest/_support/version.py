"""The version of this package, as the build took it from the newest git tag (`setuptools_scm` in pyproject.toml)."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("policyforest")
except PackageNotFoundError:  # sources on the path without an installation
    __version__ = "0+unknown"
