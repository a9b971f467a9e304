# SPDX-License-Identifier: Apache-2.0
#
# Writes parts.json, whose versions `numascape --version` prints, and the list of parts of a wheel
# names. The libraries' headers say the versions: the compiler's preprocessor inserts them.
file(WRITE "${PROJECT_BINARY_DIR}/versions.c" "#include <elfutils/version.h>
#include <hwloc.h>
#include <metis.h>
#include <scotch.h>
numascape_versions HWLOC_VERSION METIS_VER_MAJOR.METIS_VER_MINOR.METIS_VER_SUBMINOR \
SCOTCH_VERSION.SCOTCH_RELEASE.SCOTCH_PATCHLEVEL 0 _ELFUTILS_VERSION
")
execute_process(
  COMMAND "${CMAKE_C_COMPILER}" -E -P "-I${NUMASCAPE_LIBDW_INCLUDE}" "-I${NUMASCAPE_HWLOC_INCLUDE}"
          "-I${NUMASCAPE_METIS_INCLUDE}" "-I${NUMASCAPE_SCOTCH_INCLUDE}" versions.c
  WORKING_DIRECTORY "${PROJECT_BINARY_DIR}"
  OUTPUT_VARIABLE _preprocessed COMMAND_ERROR_IS_FATAL ANY)
if(NOT _preprocessed MATCHES "numascape_versions \"([^\"]+)\" ([0-9. ]+)")
  message(FATAL_ERROR "The headers of hwloc, METIS, Scotch and elfutils have no versions")
endif()
set(_hwloc "${CMAKE_MATCH_1}")
# The preprocessor may write a blank between the parts of a number.
string(REGEX MATCHALL "[0-9]+" _numbers "${CMAKE_MATCH_2}")
list(LENGTH _numbers _count)
if(NOT _count EQUAL 8)
  message(FATAL_ERROR "Unexpected versions of METIS, Scotch and elfutils: ${_numbers}")
endif()
list(SUBLIST _numbers 0 3 _metis)
list(SUBLIST _numbers 3 3 _scotch)
list(SUBLIST _numbers 6 2 _elfutils)
foreach(_library metis scotch elfutils)
  list(JOIN _${_library} "." _${_library})
endforeach()

file(WRITE "${PROJECT_BINARY_DIR}/parts.json" "{\"DynamoRIO\": \"${NUMASCAPE_DYNAMORIO_VERSION}\", \
\"patches\": ${NUMASCAPE_DYNAMORIO_PATCHES}, \"LLVM\": \"${NUMASCAPE_LLVM_VERSION}\", \
\"libraries\": {\"hwloc\": \"${_hwloc}\", \"METIS\": \"${_metis}\", \"Scotch\": \"${_scotch}\", \
\"elfutils\": \"${_elfutils}\"}}\n")
install(FILES "${PROJECT_BINARY_DIR}/parts.json" DESTINATION .)

# The commit of the native parts, with +changes if files differ from it. Without git, or in a clone of another user, there is none.
find_program(NUMASCAPE_GIT git)
install(CODE "
  set(commit \"\")
  if(EXISTS \"${PROJECT_SOURCE_DIR}/.git\" AND EXISTS \"${NUMASCAPE_GIT}\")
    execute_process(COMMAND \"${NUMASCAPE_GIT}\" describe --always --abbrev=12 --exclude=* --dirty=+changes
                    WORKING_DIRECTORY \"${PROJECT_SOURCE_DIR}\"
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/commit.txt\" \"\${commit}\\n\")")
