# SPDX-License-Identifier: Apache-2.0
#
# Finds DynamoRIO, or fetches and builds it.
#
# After include(): find_package(DynamoRIO) works in every directory below, and
#   NUMASCAPE_DYNAMORIO_HOME    the folder with lib64/, ext/ and include/
#   NUMASCAPE_DYNAMORIO_LICENSE its licence text, or empty when it is the user's own DynamoRIO
#   NUMASCAPE_DYNAMORIO_VERSION its version
#   NUMASCAPE_DYNAMORIO_PATCHES how many of our patches it has
#
# The sources come in the crate dynamorio-sys (core, launcher libraries, extensions). The patches in
# cmake/dynamorio/patches correct errors of this version that change what a program computes. Each
# patch begins with its reason. The sources are fetched, patched and built at configure time, because the client's
# find_package needs the result then. The folder of the build is named after what the patches change and the
# options, so one build serves every build folder of this checkout, and a changed patch gets a new build.

set(_version 11.90.1)
# SHA-256 of the crate's archive, as its registry publishes it.
set(_sha256 047b2f9b14d1899521cfce314636562a73d9a4027a424876b0f2bb0f8e0edfa7)
set(NUMASCAPE_DYNAMORIO_CACHE "${PROJECT_SOURCE_DIR}/build/dynamorio-${_version}"
    CACHE PATH "Where DynamoRIO is fetched and built")
set(NUMASCAPE_DYNAMORIO_LICENSE "")

# The patches are applied in the order of their names.
file(GLOB _patches CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/dynamorio/patches/*.patch")
list(SORT _patches)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_patches})
include(PatchesHash)
numascape_hash_of_patches(_patches_hash ${_patches})
# With annotations, DynamoRIO answers the requests that programs make to Valgrind. The programs
# would then behave as under Valgrind.
set(_options -DCMAKE_BUILD_TYPE=RelWithDebInfo -DDEBUG=OFF -DBUILD_TESTS=OFF -DBUILD_SAMPLES=OFF
  -DBUILD_DOCS=OFF -DBUILD_CLIENTS=OFF -DBUILD_TOOLS=OFF -DDISABLE_WARNINGS=ON -DANNOTATIONS=OFF)
# The recorder, its launcher and its attacher use only these targets. By default, DynamoRIO would
# build more than twice as much.
set(_targets dynamorio drmgr drutil drinjectlib drconfiglib drfrontendlib drdecode drlibc
  drmemfuncs)
string(SHA256 _patches_hash "${_patches_hash}${_options}")
string(SUBSTRING "${_patches_hash}" 0 12 _patches_hash)
set(_patched "${NUMASCAPE_DYNAMORIO_CACHE}/patched-${_patches_hash}")

# Runs a command of the build. If it fails, stops and shows the end of its output.
function(_numascape_run what)
  message(STATUS "DynamoRIO: ${what}")
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(LENGTH "${output}" length)
    if(length GREATER 4000)
      math(EXPR start "${length} - 4000")
      string(SUBSTRING "${output}" ${start} -1 output)
    endif()
    message(FATAL_ERROR "DynamoRIO: ${what} failed (${status})\n${output}")
  endif()
endfunction()

function(_numascape_find_cargo result)
  find_program(NUMASCAPE_CARGO cargo DOC "Cargo 1.70 or newer, to fetch DynamoRIO's sources")
  set(advice "install Debian's package cargo-web, or build DynamoRIO and pass -DDynamoRIO_DIR=")
  if(NOT NUMASCAPE_CARGO)
    message(FATAL_ERROR "DynamoRIO: no cargo on PATH to fetch its sources; ${advice}")
  endif()
  execute_process(COMMAND ${NUMASCAPE_CARGO} --version OUTPUT_VARIABLE text ERROR_QUIET)
  if(NOT text MATCHES "cargo ([0-9]+\\.[0-9]+)" OR CMAKE_MATCH_1 VERSION_LESS 1.70)
    message(FATAL_ERROR "DynamoRIO: ${NUMASCAPE_CARGO} is older than 1.70; ${advice}")
  endif()
  set(${result} ${NUMASCAPE_CARGO} PARENT_SCOPE)
endfunction()

function(_numascape_fetch_dynamorio)
  set(crate "${NUMASCAPE_DYNAMORIO_CACHE}/vendor/dynamorio-sys")
  if(NOT EXISTS "${crate}/.cargo-checksum.json")
    _numascape_find_cargo(cargo)
    file(MAKE_DIRECTORY "${NUMASCAPE_DYNAMORIO_CACHE}")
    file(COPY "${PROJECT_SOURCE_DIR}/cmake/dynamorio/"
         DESTINATION "${NUMASCAPE_DYNAMORIO_CACHE}/manifest")
    _numascape_run("fetching the sources of ${_version}"
                   ${cargo} vendor --quiet --versioned-dirs
                   --manifest-path "${NUMASCAPE_DYNAMORIO_CACHE}/manifest/Cargo.toml"
                   "${NUMASCAPE_DYNAMORIO_CACHE}/vendor.part")
    # Cargo has checked the archive against the checksum that it writes here.
    file(READ "${NUMASCAPE_DYNAMORIO_CACHE}/vendor.part/dynamorio-sys-${_version}/.cargo-checksum.json"
         checksums)
    string(JSON package GET "${checksums}" package)
    if(NOT package STREQUAL _sha256)
      message(FATAL_ERROR "DynamoRIO: the crate's checksum is ${package}, expected ${_sha256}")
    endif()
    file(MAKE_DIRECTORY "${NUMASCAPE_DYNAMORIO_CACHE}/vendor")
    file(RENAME "${NUMASCAPE_DYNAMORIO_CACHE}/vendor.part/dynamorio-sys-${_version}" "${crate}")
    file(REMOVE_RECURSE "${NUMASCAPE_DYNAMORIO_CACHE}/vendor.part")
  endif()
endfunction()

# Makes the folder source/ beside the build: the crate's sources with the patches applied.
function(_numascape_patch_dynamorio)
  if(EXISTS "${_patched}/source")
    return()
  endif()
  set(part "${_patched}/source.part")
  file(REMOVE_RECURSE "${part}")
  file(COPY "${NUMASCAPE_DYNAMORIO_CACHE}/vendor/dynamorio-sys/dynamorio/" DESTINATION "${part}")
  find_program(NUMASCAPE_PATCH patch REQUIRED DOC "Applies the patches to DynamoRIO's sources")
  foreach(patch IN LISTS _patches)
    get_filename_component(name "${patch}" NAME)
    _numascape_run("applying ${name}" ${NUMASCAPE_PATCH} --directory=${part} --strip=1
                   --forward --fuzz=0 --no-backup-if-mismatch --input=${patch})
  endforeach()
  file(RENAME "${part}" "${_patched}/source")
endfunction()

function(_numascape_build_dynamorio)
  set(build "${_patched}/build")
  # This file is written last. Without it, the build was interrupted, and is continued.
  if(EXISTS "${build}/numascape-built")
    return()
  endif()
  _numascape_fetch_dynamorio()
  _numascape_patch_dynamorio()
  find_program(NUMASCAPE_NINJA NAMES ninja ninja-build REQUIRED)
  cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
  # Messages of assertions name their source file: the name must not depend on the folder of the
  # build. DynamoRIO takes flags from the environment only.
  set(same_names "-ffile-prefix-map=${_patched}/source=../source -ffile-prefix-map=${build}=.")
  # project() sets variables of the environment to its compilers. DynamoRIO must not get the one for
  # the assembler, because it calls `as` directly.
  _numascape_run("configuring" ${CMAKE_COMMAND} -E env --unset=ASM --unset=ASMFLAGS
    --unset=LDFLAGS "CFLAGS=${same_names}" "CXXFLAGS=${same_names}" ${CMAKE_COMMAND} -G Ninja
    "-DCMAKE_MAKE_PROGRAM=${NUMASCAPE_NINJA}"
    -S "${_patched}/source" -B "${build}"
    "-DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
    # Without build ids, the libraries are the same in every folder: the wheel needs this. The name
    # of the build's folder does not depend on this option, because builds without it work the same.
    -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--build-id=none
    ${_options})
  _numascape_run("building with ${processors} processes (a minute)"
                 ${CMAKE_COMMAND} --build "${build}" --parallel ${processors} --target ${_targets})
  file(TOUCH "${build}/numascape-built")
endfunction()

if(NOT DynamoRIO_DIR)
  # Two build folders may be configured at the same time; the second waits for the first.
  file(LOCK "${NUMASCAPE_DYNAMORIO_CACHE}.lock" GUARD FILE)
  _numascape_build_dynamorio()
  set(DynamoRIO_DIR "${_patched}/build/cmake")
  set(NUMASCAPE_DYNAMORIO_LICENSE "${_patched}/source/License.txt")
elseif(_patches)
  message(WARNING "DynamoRIO: ${DynamoRIO_DIR} is used as it is. Apply the patches in "
                  "cmake/dynamorio/patches to it: without them some programs are recorded wrongly.")
endif()
find_package(DynamoRIO REQUIRED)
get_filename_component(NUMASCAPE_DYNAMORIO_HOME "${DynamoRIO_DIR}/.." ABSOLUTE)
message(STATUS "DynamoRIO: ${NUMASCAPE_DYNAMORIO_HOME}")
if(NUMASCAPE_DYNAMORIO_LICENSE)
  set(NUMASCAPE_DYNAMORIO_VERSION ${_version})
  list(LENGTH _patches NUMASCAPE_DYNAMORIO_PATCHES)
else()
  set(NUMASCAPE_DYNAMORIO_VERSION "${DynamoRIO_VERSION}")
  set(NUMASCAPE_DYNAMORIO_PATCHES 0)
endif()

# Installs what is used at run time, in the folders that DynamoRIO expects below its root.
function(numascape_install_dynamorio destination)
  install(DIRECTORY "${NUMASCAPE_DYNAMORIO_HOME}/lib64/release"
          DESTINATION "${destination}/lib64" USE_SOURCE_PERMISSIONS FILES_MATCHING PATTERN "*.so")
  install(DIRECTORY "${NUMASCAPE_DYNAMORIO_HOME}/ext/lib64/release"
          DESTINATION "${destination}/ext/lib64"
          FILES_MATCHING PATTERN "libdrmgr.so" PATTERN "libdrutil.so")
  if(NUMASCAPE_DYNAMORIO_LICENSE)
    install(FILES "${NUMASCAPE_DYNAMORIO_LICENSE}" DESTINATION "${destination}"
            RENAME DynamoRIO-License.txt)
  endif()
endfunction()
