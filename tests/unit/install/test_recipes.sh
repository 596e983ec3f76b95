#!/bin/bash
# Recipes of packaging/ as far as a machine without conda, Spack, EasyBuild, Lmod and Apptainer can tell: every option that they give
# CMake is one of the project's, the conda recipe's own commands build, install and try the program in a prefix, and what modules and
# sanity checks name stands there. Compiled code is that of this tree.
# trees: release
set -eu
build=$(cd "$(dirname "$1")" && pwd)
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work_folder
export WEFT_KERNELS=$build WEFT_COMPILED='^src/app/cli/main'

cat >recipes.py <<'PY'
"""recipes.py SOURCE: writes options.spack, options.eb, options.conda (one a line), conda.sh, conda-test.sh and paths."""
import glob
import re
import sys
import types

packaging = sys.argv[1] + "/packaging/"


def text(name):
    with open(packaging + name, encoding="utf-8") as file:
        return file.read()


def write(name, lines):
    with open(name, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


# Spack: the class with its words replaced by recorders.
class CMakePackage:
    def define(self, name, value):
        return "-D%s=%s" % (name, "ON" if value is True else "OFF" if value is False else value)

    def define_from_variant(self, name, variant):
        assert variant in variants, variant
        return self.define(name, variants[variant])


variants, versions, needs = {}, [], []
names = {"CMakePackage": CMakePackage, "license": lambda *_: None, "version": lambda number, **_: versions.append(number),
         "variant": lambda name, default, **_: variants.update({name: default}), "generator": lambda *_: None,
         "depends_on": lambda what, **_: needs.append(what)}
module = types.ModuleType("spack.package")
module.__dict__.update(names)
sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), module
spack = {}
exec(text("spack/packages/weft/package.py"), spack)
assert len(versions) == 1 and "mpi" in needs and "c" in needs, (versions, needs)
write("options.spack", spack["Weft"]().cmake_args())

easy = {"SOURCE_TAR_GZ": "%(name)s-%(version)s.tar.gz"}
path, = glob.glob(packaging + "easybuild/*.eb")
exec(open(path, encoding="utf-8").read(), easy)
write("options.eb", easy["configopts"].split())
write("paths", easy["sanity_check_paths"]["files"] + easy["sanity_check_paths"]["dirs"] + list(easy["modextrapaths"].values()))
with open("paths", "a") as file:
    file.writelines(path + "\n" for path in re.findall(r'pathJoin\(root, "([^"]+)"\)', text("modules/weft.lua")))

recipe = text("conda/meta.yaml")
script = re.search(r"script: >\n((?:    .*\n)+)", recipe).group(1)
write("options.conda", [word for word in script.split() if word.startswith("-DWEFT")])
write("conda.sh", [" ".join(script.split()).replace("build/conda", '"$work/conda"')])
write("conda-test.sh", re.findall(r"^    - (weft .*)$", recipe, re.M))
assert versions[0] == easy["version"] == re.search(r'version: "(.*)"', recipe).group(1)
PY
python3 recipes.py "$source_dir" || fail "a recipe does not parse"

# CMake tells of options that nothing reads.
for recipe in spack eb; do
    mapfile -t options <"options.$recipe"
    [ ${#options[@]} -gt 0 ] || fail "$recipe gives no option"
    ok cmake -S "$source_dir" -B "$recipe" -G Ninja "${options[@]}"
    if grep -q "not used by the project" err; then fail "$recipe: $(cat err)"; fi
    grep -q "^WEFT_TESTS:BOOL=OFF$" "$recipe/CMakeCache.txt" || fail "$recipe builds the tests"
done
export work PREFIX=$work/prefix
mkdir "$PREFIX"
(cd "$source_dir" && bash -e "$work/conda.sh") >out 2>err || fail "conda: $(cat out err | tail -n 20)"
if grep -q "not used by the project" err; then fail "conda: $(cat err)"; fi
unset WEFT_KERNELS WEFT_COMPILED
[ -s conda-test.sh ] || fail "the conda recipe tries nothing"
(cd "$work" && PATH=$PREFIX/bin:$PATH bash -e conda-test.sh) >out 2>err || fail "conda's tests: $(tail -n 20 err)"
[ -s run/summary.json ] || fail "no training"
while read -r path; do
    [ -e "$PREFIX/$path" ] || fail "a recipe names $path, which is not installed"
done <paths
[ "$(wc -l <paths)" -gt 6 ] || fail "paths: $(cat paths)"
# The container's steps are scripts of the checkout, and targets of its build.
sed -n '/^%post/,/^%/p' "$source_dir/packaging/apptainer/weft.def" | grep '^ ' >post.sh
bash -n post.sh || fail "%post of the container"
grep -q 'scripts/quickstart --build' post.sh && [ -x "$source_dir/scripts/quickstart" ] || fail "$(cat post.sh)"
grep -q -- '--build' "$source_dir/scripts/quickstart" || fail "quickstart has no --build"
echo "ok"
