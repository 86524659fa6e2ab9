# make demo   learn a pendulum controller from 100 random episodes, evaluate it, export it, write a report
# make test   everything that CI runs
# make bench  our times compared with those of other libraries
# make coverage  the Python tests, and the share of the code that they run
# make lint   ruff, clang-format, mypy and the order of the packages (import-linter) alone
# make stubs  src/policyforest/_core.pyi, the types of the C++ core, from the compiled module
# make test-embedded   exported C on emulated processors; installs cross compilers and emulators
# make test-ros   the ROS node on a real ROS 1 network; installs ROS from Debian's packages
# make test-ros2  the node over DDS, and over ROS 2 where one is sourced
# make test-gazebo   the swing-up in Gazebo; needs Debian and root, 11 minutes and 2.8 GB the first time
# make test-ray   learning on a Ray cluster of several local nodes that are killed; installs Ray
# make bench-scaling   time and memory over samples and workers; writes docs/scaling.md
# make wheel  the sdist and the wheel, in dist/; make test-wheel installs it in an empty venv and tests it there
# make test-clang test-lanes test-aarch64   the C++ tests with Clang, without vector notation, and on emulated ARM64
# make docs   the documentation as a site, in site/; needs no network once .venv is there
# make test-ecosystem  Stable-Baselines3, d3rlpy and Hugging Face's cards; installs PyTorch in a venv of its own
#                      (TORCH=torch==2.13.0+cpu: a build without CUDA is a tenth of the size, where your index has one)
# Each target sets up .venv by itself; a second run costs seconds.

PYTHON ?= python3
TORCH ?= torch
VENV := .venv
BIN := $(VENV)/bin
CORE := $(shell find core -type f) CMakeLists.txt
CPP_TESTS := $(wildcard tests/cpp/*)
PYTHON_FILES := src tests benchmarks ros2 tools docs/examples
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-cpp test-python test-embedded test-ros test-ros2 test-gazebo test-ray test-ecosystem test-clang test-lanes test-aarch64 coverage wheel test-wheel docs quotes bench bench-export bench-scaling lint stubs clean

demo: $(VENV)/.installed
	$(BIN)/python -m policyforest.cli.demo

test: lint test-cpp test-python

test-cpp: build/cpp/.passed build/cpp-sanitized/.passed

test-python: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 tests --ignore=tests/embedded --ignore=tests/ros1 --ignore=tests/cluster

# The same tests, and the share of the Python code that they run.
coverage: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 tests --ignore=tests/embedded --ignore=tests/ros1 --ignore=tests/cluster \
	  --cov=policyforest --cov-report=
	$(BIN)/python -m coverage report --skip-covered

test-embedded: $(VENV)/.installed
	tests/embedded/install_tools.sh
	POLICYFOREST_EMBEDDED=1 $(BIN)/python -m pytest -n 2 tests/embedded

test-ros: $(VENV)/.installed
	tests/ros1/install_tools.sh
	$(BIN)/python -m pytest tests/ros1 --ignore=tests/ros1/test_gazebo.py

# A sourced ROS 2 brings plugins for pytest whose own libraries this environment does not have.
test-ros2: $(VENV)/.installed
	PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(BIN)/python -m pytest tests/ros2 -rs

# POLICYFOREST_GAZEBO is the folder of Gazebo.
test-gazebo: $(VENV)/.installed
	tests/ros1/install_tools.sh
	$(BIN)/policyforest gazebo setup --yes
	$(BIN)/python -m pytest tests/ros1/test_gazebo.py

test-ray: $(VENV)/.installed-ray
	$(BIN)/python -m pytest tests/cluster

test-ecosystem: $(VENV)-ecosystem/.installed
	POLICYFOREST_ECOSYSTEM=1 $(VENV)-ecosystem/bin/python -m pytest tests/ecosystem

# Portability: other compilers and another processor. The C++ tests, built in build/cpp-*.
test-clang: build/cpp-clang/.passed
test-lanes: build/cpp-lanes/.passed
test-aarch64: build/cpp-aarch64/.passed

wheel: $(VENV)/.build-tools
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist

test-wheel: wheel
	$(PYTHON) tools/test_wheel.py dist/policyforest-*.whl $(WHEEL)

docs: $(VENV)/.installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The tables and numbers of the docs that come from the results of `policyforest reproduce`.
quotes: $(VENV)/.installed
	$(BIN)/python -m policyforest.paper.readme docs/results README.md docs/exploring.md docs/ros.md docs/learning.md docs/problems.md

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/bench_core.py

bench-export: $(VENV)/.installed-bench
	tests/embedded/install_tools.sh
	$(BIN)/python benchmarks/bench_export.py

bench-scaling: $(VENV)/.installed-ray
	$(BIN)/python benchmarks/scaling/run.py $(SCALING)

lint: $(VENV)/.installed
	$(BIN)/ruff check $(PYTHON_FILES)
	$(BIN)/ruff format --check $(PYTHON_FILES)
	$(BIN)/clang-format --dry-run -Werror $(filter %.cpp %.hpp %.inl,$(CORE) $(CPP_TESTS))
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

stubs: $(VENV)/.installed
	$(BIN)/python -m nanobind.stubgen -q -m policyforest._core -o src/policyforest/_core.pyi
	$(BIN)/ruff format -q src/policyforest/_core.pyi

clean:
	rm -rf build $(VENV) $(VENV)-ecosystem site demo bench-results

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.build-tools: $(VENV)/.created pyproject.toml
	$(BIN)/pip install -q "scikit-build-core>=0.10" "setuptools-scm>=8" "hatch-fancy-pypi-readme>=24.1" build "nanobind>=3.1" "numpy>=2.0" "cmake>=3.18" ninja
	touch $@

$(VENV)/.installed: $(VENV)/.build-tools pyproject.toml $(CORE)
	$(BIN)/pip install -q --no-build-isolation -Cbuild-dir=build/python -e ".[test]"
	touch $@

# A venv that sees the packages of the other one and adds its own, which are large.
$(VENV)-ecosystem/.installed: $(VENV)/.installed
	$(PYTHON) -m venv $(VENV)-ecosystem
	$(VENV)-ecosystem/bin/python -c 'import sysconfig, pathlib; here = pathlib.Path(sysconfig.get_path("purelib")); \
	  there = str(here).replace("$(VENV)-ecosystem", "$(VENV)"); \
	  (here / "policyforest_venv.pth").write_text(f"import site; site.addsitedir({there!r})\n")'
	$(VENV)-ecosystem/bin/pip install -q "$(TORCH)" "stable-baselines3>=2.4" "huggingface_hub>=0.24" "d3rlpy>=2.8"
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(BIN)/pip install -q --no-build-isolation -Cbuild-dir=build/python -e ".[test,bench]"
	touch $@

$(VENV)/.installed-ray: $(VENV)/.installed
	$(BIN)/pip install -q --no-build-isolation -Cbuild-dir=build/python -e ".[test,ray]"
	touch $@

VARIANTS := cpp cpp-sanitized cpp-clang cpp-lanes cpp-aarch64
OPTIONS-cpp-sanitized := -DPOLICYFOREST_SANITIZE=ON
OPTIONS-cpp-clang := -DCMAKE_CXX_COMPILER=clang++
OPTIONS-cpp-lanes := -DPOLICYFOREST_PLAIN_LANES=ON
# Linked statically: the emulator then needs none of the target's libraries.
OPTIONS-cpp-aarch64 := -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_EXE_LINKER_FLAGS=-static \
  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64

$(VARIANTS:%=build/%/.passed): build/%/.passed: $(VENV)/.build-tools $(CORE) $(CPP_TESTS)
	$(BIN)/cmake -S . -B build/$* -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DPOLICYFOREST_PYTHON=OFF \
	  -DPOLICYFOREST_TESTS=ON $(OPTIONS-$*) > build-$*.log 2>&1 || { cat build-$*.log; exit 1; }
	rm build-$*.log
	$(BIN)/cmake --build build/$* -- --quiet
	$(BIN)/ctest --test-dir build/$* --output-on-failure
	touch $@
