# spack repo add packaging/spack && spack dev-build weft@0.1.0: a package of this checkout (docs/howto-build.md).
from spack.package import *


class Weft(CMakePackage):
    """Training runtime for clusters of CPUs: graph networks, networks on images, boosted trees, models of clicks."""

    license("Apache-2.0")
    version("0.1.0")

    variant("onednn", default=True, description="Products of matrices by oneDNN")

    generator("ninja")
    depends_on("c", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("mpi")
    depends_on("onednn cpu_runtime=omp", when="+onednn")
    depends_on("hwloc")
    depends_on("numactl")
    depends_on("metis~int64")
    depends_on("xxhash")
    depends_on("zlib-api")
    depends_on("xz")
    depends_on("libjpeg-turbo")
    depends_on("libpng")

    def cmake_args(self):
        return [self.define("WEFT_TESTS", False), self.define_from_variant("WEFT_ONEDNN", "onednn")]
