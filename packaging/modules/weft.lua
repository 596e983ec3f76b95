-- A module file of Lmod: put it into MODULEPATH as weft/0.1.0.lua beside a tree of `cmake --install`, whose folder it names.
help([[Weft: training runtime for clusters of CPUs. weft --help; man weft; python3 -c 'import weft; help(weft)']])
whatis("Name: weft")
whatis("Version: 0.1.0")
local root = os.getenv("WEFT_ROOT") or "/opt/weft/0.1.0"
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
prepend_path("LD_LIBRARY_PATH", pathJoin(root, "lib"))
prepend_path("CMAKE_PREFIX_PATH", root)
prepend_path("PKG_CONFIG_PATH", pathJoin(root, "lib/pkgconfig"))
prepend_path("PYTHONPATH", pathJoin(root, "share/weft/python"))
