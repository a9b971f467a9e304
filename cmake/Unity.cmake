# SPDX-License-Identifier: Apache-2.0
#
# numascape_compile_as_one(TARGET...): the files of a target are compiled as one, so the compiler reads
# their headers and makes the instances of their templates once. Names in anonymous namespaces must
# then differ. Do not use it for code that runs inside the recorded program: the cost of this code
# should not depend on NUMASCAPE_UNITY.
option(NUMASCAPE_UNITY "Compile the files of large libraries as one; OFF is quicker after small changes" ON)

function(numascape_compile_as_one)
  set_target_properties(${ARGN} PROPERTIES
    UNITY_BUILD ${NUMASCAPE_UNITY} UNITY_BUILD_BATCH_SIZE 0)
endfunction()
