# SPDX-License-Identifier: Apache-2.0
"""Numascape for Spack 1.0 or newer, from the clone that this file is in."""

from pathlib import Path

from spack.package import *
from spack_repo.builtin.build_systems.generic import Package


class Numascape(Package):
    """See how a program uses memory on a NUMA machine, and why it is slow."""

    git = Path(__file__).resolve().parents[6].as_uri()

    license("Apache-2.0")

    version("main", branch="main")

    variant("compiled", default=False, description="numascape-cc, which counts compiled loops")
    variant("mpi", default=False, description="Evaluate large jobs on MPI processes")
    variant("charm", default=False, description="Balance chares of charm4py")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    # Cargo brings DynamoRIO's sources, with a checksum; npm the libraries of the page.
    depends_on("rust@1.70:", type="build")
    depends_on("node-js@18:", type="build")
    depends_on("npm@9:", type="build")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("elfutils")
    depends_on("hwloc@2:")
    depends_on("metis@5:")
    depends_on("scotch@7:~mpi")
    depends_on("llvm@19+clang+flang", type=("build", "run"), when="+compiled")
    depends_on("mpi", type=("build", "run"), when="+mpi")

    conflicts("target=aarch64:", msg="the recorders are for x86-64")
    conflicts("platform=darwin", msg="Numascape observes Linux programs")

    def install(self, spec, prefix):
        """Make a Python environment in the prefix.

        Spack does not have all of the Python libraries, so pip fetches them, in the versions that
        Numascape is tested with.
        """
        extras = ",".join(name for name in ("mpi", "charm") if spec.satisfies(f"+{name}"))
        python = spec["python"].command
        python("-m", "venv", prefix.environment)
        pip = Executable(join_path(prefix.environment.bin, "pip"))
        pip(
            "install",
            "--no-cache-dir",
            "--constraint",
            "constraints.txt",
            f".[{extras}]" if extras else ".",
        )
        # Only the commands of Numascape, not those of its libraries, belong on PATH.
        mkdirp(prefix.bin)
        for command in ("numascape", "numascape-cc", "numascape-c++", "numascape-fc"):
            symlink(join_path(prefix.environment.bin, command), join_path(prefix.bin, command))

    def setup_run_environment(self, env):
        """Let CMake's find_package(numascape) find the headers."""
        for package in Path(self.prefix).glob("environment/lib/python3*/site-packages/numascape"):
            env.prepend_path("CMAKE_PREFIX_PATH", str(package))
