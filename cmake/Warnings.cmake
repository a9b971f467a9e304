# SPDX-License-Identifier: Apache-2.0
#
# numascape_warnings(TARGET...): warnings are errors. Use it for our own code only.
function(numascape_warnings)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -Wall -Wextra -Werror)
  endforeach()
endfunction()
