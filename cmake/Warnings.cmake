# SPDX-License-Identifier: Apache-2.0
#
# numascape_warnings(TARGET...): our code compiles without warnings. Not for third-party targets.
function(numascape_warnings)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -Wall -Wextra -Werror)
  endforeach()
endfunction()
