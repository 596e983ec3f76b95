#!/bin/bash
# The package step of the scripts against imitations of dpkg-query, apt-get, sudo and id: nothing is installed.
set -eu
source_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
for tool in bash cat env dirname grep sed; do
  ln -s "$(command -v $tool)" "$work/bin/$tool"
done

imitate() { # NAME BODY
  printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
imitate dpkg-query "grep -qx \"\${!#}\" '$work/present' && printf installed"
imitate apt-get "echo \"apt-get \$*\" >>'$work/calls'; if [ \"\$1\" = install ]; then for p; do echo \"\$p\" >>'$work/present'; done; fi"
imitate sudo "echo sudo >>'$work/calls'; shift; \"\$@\""

need() { # runs need_packages as the imitated user
  PATH=$work/bin bash -c 'set -euo pipefail; . "$1/scripts/lib.sh"; shift; need_packages "$@"' need "$source_dir" "$@"
}
expect() { # FILE TEXT
  grep -q -- "$2" "$1" || { echo "no \"$2\" in:"; cat "$1"; exit 1; }
}

imitate id 'echo 0'
printf 'gcc\ncmake\n' >"$work/present"
: >"$work/calls"
need gcc cmake >"$work/out"
expect "$work/out" "nothing to install"
[ ! -s "$work/calls" ] || { echo "apt-get was called for nothing"; exit 1; }

need gcc ninja-build cmake >"$work/out"
expect "$work/out" "Debian packages to install: ninja-build"
expect "$work/calls" "apt-get install -y .*ninja-build"
if grep -qE 'sudo|install.*gcc' "$work/calls"; then echo "root needs no sudo, gcc was there"; exit 1; fi
need gcc ninja-build cmake >"$work/out"
expect "$work/out" "nothing to install"

imitate id 'echo 1000'
need libnuma-dev >"$work/out"
expect "$work/calls" sudo

rm "$work/bin/sudo"
if need libhwloc-dev >"$work/out" 2>&1; then echo "installed without rights"; exit 1; fi
expect "$work/out" "as root, run: .*apt-get"

rm "$work/bin/dpkg-query"
if need gcc >"$work/out" 2>&1; then echo "accepted a system without dpkg"; exit 1; fi
expect "$work/out" "not a Debian system"

# ---- the CUDA toolkit: its component is added after a question, with a compiler that it takes ----
imitate id 'echo 0'
imitate dpkg-query "grep -qx \"\${!#}\" '$work/present' && printf installed"
imitate dpkg-deb :
imitate tee "cat >'$work/sources'"
imitate nvcc 'case $1 in --version) echo "release 11.8, V11.8.89" ;; *) echo compute_60 && echo compute_90 ;; esac'
imitate apt-cache "[ -e '$work/sources' ] && case \$2 in nvidia-*) echo ' Candidate: 11.8.89~11.8.0-5' ;; g++-11) echo ' Candidate: 11.3.0' ;; esac"
imitate apt-get "echo \"apt-get \$*\" >>'$work/calls'; case \$1 in
indextargets) printf '%s\n' 'http://deb.example/debian/ bookworm-updates main Debian' 'http://deb.example/debian/ bookworm main Debian' ;;
esac"
for tool in awk tr realpath; do
  ln -s "$(command -v $tool)" "$work/bin/$tool"
done
cuda() {
  PATH=$work/bin bash "$source_dir/scripts/cuda_packages" "$@" </dev/null
}
: >"$work/calls"
cuda >"$work/out" 2>&1
expect "$work/out" "CUDA 11.8 at .*nvcc compiles for: 60 90"
if grep -q install "$work/calls"; then echo "installed over what was there"; exit 1; fi
mv "$work/bin/nvcc" "$work/nvcc"
export CUDA_HOME=$work/none
if cuda >"$work/out" 2>&1; then echo "added packages that are not free without a question"; exit 1; fi
expect "$work/out" "Components: contrib non-free"
expect "$work/out" "--yes says yes"
[ ! -e "$work/sources" ] || { echo "sources were changed"; exit 1; }
imitate apt-get "$(sed 1d "$work/bin/apt-get")
[ \"\$1\" != install ] && [[ \"\$*\" != *\ install\ * ]] || cp '$work/nvcc' '$work/bin/nvcc'"
ln -s "$(command -v cp)" "$work/bin/cp"
cuda --yes >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
expect "$work/sources" "URIs: http://deb.example/debian/"
expect "$work/sources" "Suites: bookworm$"
expect "$work/calls" "install .*nvidia-cuda-toolkit g++-11"
expect "$work/out" "CUDA 11.8 at nvcc compiles for: 60 90"
echo "packages: ok"

# Recipes of packaging/: the version is the project's, and every library that CMake asks for is named under one of its names.
version=$(sed -n 's/^project(weft VERSION \([0-9.]*\) .*/\1/p' "$source_dir/CMakeLists.txt")
recipes=$source_dir/packaging
for file in conda/meta.yaml spack/packages/weft/package.py easybuild/weft-"$version"-foss-2023a.eb modules/weft.lua apptainer/weft.def; do
  expect "$recipes/$file" "$version"
done
for names in 'hwloc' 'numactl' 'metis|METIS' 'xxhash|xxHash' 'zlib' 'xz|XZ|liblzma-devel' 'libjpeg-turbo' 'libpng' 'mpi|foss|openmpi' 'onednn|oneDNN'; do
  for file in conda/meta.yaml spack/packages/weft/package.py easybuild/*.eb; do
    grep -qE "$names" "$recipes"/$file || { echo "$file does not name $names"; exit 1; }
  done
done
wanted=$(sed -n 's/^ *weft_find(\([a-z]*\) .*/\1/p' "$source_dir/cmake/WeftDependencies.cmake" | sort | tr '\n' ' ')
[ "$wanted" = "dnnl hwloc jpeg metis numa png xxhash " ] || { echo "CMake asks for $wanted: name new ones in packaging/ and here"; exit 1; }
python3 - "$recipes" <<'PY'
import glob
import sys
for path in [*glob.glob(sys.argv[1] + "/spack/packages/*/package.py"), *glob.glob(sys.argv[1] + "/easybuild/*.eb")]:
    compile(open(path, encoding="utf-8").read(), path, "exec")
try:
    import yaml
except ImportError:
    sys.exit(0)
recipe = yaml.safe_load(open(sys.argv[1] + "/conda/meta.yaml", encoding="utf-8"))
assert recipe["requirements"]["run"] == recipe["requirements"]["host"], recipe
PY
echo "recipes: ok"
