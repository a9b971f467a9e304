# SPDX-License-Identifier: Apache-2.0
#
# Makes a wheel that also runs on older systems than the one on which it is built. Programs and
# libraries that use the C++ library contain a copy of it. The compiler's plugin contains none,
# because it uses the C++ library of clang. The symbols of a copy are not exported, because a
# program may have another C++ library.
set(_uses_cpp _native host-bound-run host-file-pages host-hold host-triad numascape_attach
  numascape_balance_shared numascape_faults numascape_launch probe topology-reader)
add_library(numascape_arc4random OBJECT "${CMAKE_CURRENT_LIST_DIR}/portable/arc4random.cpp")
foreach(_target IN LISTS _uses_cpp)
  target_link_options(${_target} PRIVATE -static-libstdc++ -Wl,--exclude-libs,libstdc++.a)
  target_link_libraries(${_target} PRIVATE $<TARGET_OBJECTS:numascape_arc4random>)
endforeach()

# The wheel contains code of these packages, and therefore also their licences.
foreach(_package gcc-12-base libbz2-1.0 libdw1 libelf1 libhwloc15 liblzma5 libmetis5 libscotch-7.0
        libudev1 zlib1g)
  set(_licence "/usr/share/doc/${_package}/copyright")
  if(NOT EXISTS "${_licence}")
    message(FATAL_ERROR "${_licence} is missing: portable packages are built on Debian 12")
  endif()
  install(FILES "${_licence}" DESTINATION _licenses RENAME "${_package}.txt")
endforeach()

# DynamoRIO's libraries name their debug information by its checksum. The wheel does not have it.
install(CODE "
  set(recorder \"\${CMAKE_INSTALL_PREFIX}/_recorder\")
  file(GLOB libraries \"\${recorder}/lib64/release/*.so\" \"\${recorder}/ext/lib64/release/*.so\")
  foreach(library IN LISTS libraries)
    execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --remove-section=.gnu_debuglink \"\${library}\"
                    COMMAND_ERROR_IS_FATAL ANY)
  endforeach()")

# packaging/wheel/build makes the man pages.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/build/man/" DESTINATION "${SKBUILD_DATA_DIR}/share/man/man1"
        FILES_MATCHING PATTERN "*.1")
