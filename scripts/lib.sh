# scripts/lib.sh: what the scripts share; sourced by them, never run. Sets `root`, the top of the checkout.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '\n== %s\n' "$*"; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Runs a command as root: directly, or through sudo.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -- "$@"
  else
    die "this needs root and there is no sudo; as root, run: $*"
  fi
}

installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# need_packages NAME...: installs the Debian packages that are missing. Says which, asks nothing.
need_packages() {
  command -v dpkg-query >/dev/null ||
    die "not a Debian system: install the equivalents of: $*; then configure by hand: cmake --preset release"
  local missing=() name
  for name in "$@"; do
    installed "$name" || missing+=("$name")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    echo "Debian packages: all $# present, nothing to install."
    return
  fi
  echo "Debian packages to install: ${missing[*]}"
  as_root apt-get update -qq || echo "apt-get update failed; trying with the lists at hand"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o DPkg::Lock::Timeout=600 "${missing[@]}" >/dev/null || die "apt-get could not install: ${missing[*]}"
  echo "Installed: ${missing[*]}"
}

# What the program and its tests are built from.
BUILD_PACKAGES=(gcc libc6-dev cmake ninja-build pkg-config python3 openmpi-bin libopenmpi-dev libdnnl-dev libhwloc-dev
  libnuma-dev libmetis-dev libxxhash-dev zlib1g-dev liblzma-dev libjpeg62-turbo-dev
  libpng-dev libcmocka-dev)
# What the program opens at run time, if it is there: factorisations of large matrices. They pull the least: OpenBLAS for the
# OpenMP runtime that the program uses, and LAPACK's interface for C.
LAPACK_PACKAGES=(libopenblas0-openmp liblapacke)
# What the second compiler, the sanitizers, the style checks, the look at reports in a browser and jobs under Slurm need.
TEST_PACKAGES=(clang clang-format clang-tidy lld libomp-dev libclang-rt-14-dev python3-numpy python3-xxhash git iproute2
  chromium fonts-dejavu-core slurm-wlm munge libxgboost0)

# Threads for compiling: the allowed CPUs, at most one for each 700 MB of memory.
build_jobs() {
  local cpus memory
  cpus=$(nproc)
  memory=$(awk '/^MemAvailable/ {print int($2 / 700000)}' /proc/meminfo)
  [ "${memory:-1}" -ge 1 ] || memory=1
  echo $((cpus < memory ? cpus : memory))
}

# configure_and_build PRESET TARGET [CMAKE ARGUMENT...]: quiet when there is nothing to do, the whole output when it fails.
configure_and_build() {
  local preset=$1 target=$2 log started=$SECONDS
  shift 2
  mkdir -p "$root/build" 2>/dev/null
  [ -w "$root/build" ] || die "$root/build cannot be written (made by another user?): remove it or change its owner"
  log=$root/build/$preset.log
  (cd "$root" && cmake --preset "$preset" "$@") >"$log" 2>&1 || {
    tail -40 "$log"
    die "cmake --preset $preset failed; whole output: $log"
  }
  (cd "$root" && cmake --build --preset "$preset" --target "$target" -j "$(build_jobs)") >>"$log" 2>&1 || {
    grep -E -A12 'error|FAILED|undefined' "$log" | head -60
    die "building $preset failed; whole output: $log"
  }
  if grep -q 'ninja: no work to do' "$log"; then
    echo "$preset: up to date, nothing built"
  else
    echo "$preset: built in $((SECONDS - started)) s"
  fi
}

# Open MPI refuses root unless told, and its single-copy transport complains in containers that forbid it.
mpi_environment() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_btl_vader_single_copy_mechanism=${OMPI_MCA_btl_vader_single_copy_mechanism:-none}
}

# Cores that this process may use (mpirun counts cores, not hardware threads).
core_count() {
  local cores
  cores=$(lscpu -p=CORE,SOCKET 2>/dev/null | grep -v '^#' | sort -u | wc -l)
  [ "$cores" -gt 0 ] && echo "$cores" || nproc
}
