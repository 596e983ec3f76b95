#!/bin/bash
# Each public header compiles alone, as strict C17 and, where there is a C++ compiler, as C++17.
set -eu
build=$(cd "$(dirname "$1")" && pwd)
include=$2/include
compiler=$(sed -n 's/^CMAKE_C_COMPILER:[^=]*=//p' "$build/CMakeCache.txt")
strict=(-Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -I "$include")
cxx=$(command -v g++ || command -v clang++ || true)
headers=0

for header in "$include"/weft/*.h; do
  name=weft/$(basename "$header")
  # Twice: the guard holds. A later declaration: nothing is left open.
  text=$(printf '#include <%s>\n#include <%s>\nint main(void);\n' "$name" "$name")
  "$compiler" -std=c17 -x c "${strict[@]}" -Wstrict-prototypes - <<<"$text" || { echo "$name is not C17 on its own"; exit 1; }
  if [ -n "$cxx" ]; then
    "$cxx" -std=c++17 -x c++ "${strict[@]}" - <<<"${text/main(void)/main()}" || { echo "$name is not C++17 on its own"; exit 1; }
  fi
  headers=$((headers + 1))
done
[ "$headers" -ge 6 ] || { echo "only $headers headers in $include/weft"; exit 1; }
# Public headers stand on nothing but each other and the C library.
if grep -nE '#include' "$include"/weft/*.h | grep -vE '<(stdbool|stddef|stdint)\.h>|"weft/[a-z]+\.h"'; then
  echo "a public header includes something that is not public"
  exit 1
fi
[ -n "$cxx" ] || echo "no C++ compiler: C++17 not checked"
echo "$headers headers: ok"
