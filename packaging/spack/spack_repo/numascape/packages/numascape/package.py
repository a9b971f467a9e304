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

        self._install_man_pages_and_completion(prefix)

    def _install_man_pages_and_completion(self, prefix):
        """Put both where man and the shells look below a prefix, in folders of prefix/share."""
        Executable(join_path(prefix.environment.bin, "python"))(
            "-m", "numascape.cli.man_pages", join_path(prefix.share.man, "man1")
        )
        numascape = Executable(join_path(prefix.bin, "numascape"))
        for shell, file in (
            ("bash", "bash-completion/completions/numascape"),
            ("zsh", "zsh/site-functions/_numascape"),
            ("fish", "fish/vendor_completions.d/numascape.fish"),
        ):
            script = numascape(output=str, extra_env={"_NUMASCAPE_COMPLETE": f"source_{shell}"})
            path = Path(join_path(prefix.share, file))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(script)

    def _package_folder(self):
        """The folder with the headers and the CMake package."""
        (folder,) = Path(self.prefix).glob("environment/lib/python3*/site-packages/numascape")
        return str(folder)

    def setup_run_environment(self, env):
        """Let CMake's find_package(numascape) find the headers, and the shells the completion."""
        env.prepend_path("CMAKE_PREFIX_PATH", self._package_folder())
        env.prepend_path("XDG_DATA_DIRS", self.prefix.share)

    def setup_dependent_build_environment(self, env, dependent_spec):
        """Let a package that depends on this one use find_package(numascape)."""
        env.prepend_path("CMAKE_PREFIX_PATH", self._package_folder())
