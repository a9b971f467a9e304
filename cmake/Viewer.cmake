# SPDX-License-Identifier: Apache-2.0
#
# Builds src/viewer into the one page that `numascape report` fills with data:
# numascape/report/viewer.html in the installed package.
set(_viewer "${PROJECT_SOURCE_DIR}/src/viewer")
find_program(NUMASCAPE_NPM npm DOC "npm 9 or newer, with Node.js 18 or newer")
if(NOT NUMASCAPE_NPM)
  message(FATAL_ERROR "The report's page is built with Node.js: install npm, or Debian's "
                      "packages nodejs and npm")
endif()
file(GLOB_RECURSE _viewer_sources CONFIGURE_DEPENDS "${_viewer}/src/*")
file(GLOB _viewer_settings CONFIGURE_DEPENDS "${_viewer}/*.html" "${_viewer}/*.ts"
     "${_viewer}/*.json")
# node_modules lies in the source folder, where editors and `npm test` look for it.
set(_installed "${CMAKE_CURRENT_BINARY_DIR}/viewer-dependencies")
add_custom_command(
  OUTPUT "${_installed}"
  COMMAND ${NUMASCAPE_NPM} ci --no-audit --no-fund --loglevel=error
  COMMAND ${CMAKE_COMMAND} -E touch "${_installed}"
  DEPENDS "${_viewer}/package-lock.json" "${_viewer}/package.json"
  WORKING_DIRECTORY "${_viewer}" COMMENT "Fetching the viewer's libraries" VERBATIM)
set(_page "${CMAKE_CURRENT_BINARY_DIR}/viewer.html")
add_custom_command(
  OUTPUT "${_page}"
  COMMAND ${NUMASCAPE_NPM} run --silent build
  COMMAND ${CMAKE_COMMAND} -E copy "${_viewer}/dist/index.html" "${_page}"
  DEPENDS "${_installed}" ${_viewer_sources} ${_viewer_settings}
  WORKING_DIRECTORY "${_viewer}" COMMENT "Building the viewer" VERBATIM)
add_custom_target(viewer ALL DEPENDS "${_page}")
install(FILES "${_page}" DESTINATION report)
