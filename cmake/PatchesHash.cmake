# SPDX-License-Identifier: Apache-2.0

# Sets `result` to a hash of what the patches change. Each patch begins with its reason. The reason
# is not hashed, so a build stays valid when only the reason changes.
function(numascape_hash_of_patches result)
  set(changes "")
  foreach(patch IN LISTS ARGN)
    file(READ "${patch}" text)
    string(PREPEND text "\n")
    string(FIND "${text}" "\n--- " start)
    if(start EQUAL -1)
      message(FATAL_ERROR "${patch}: no line begins with `--- `, so the patch changes nothing")
    endif()
    string(SUBSTRING "${text}" ${start} -1 text)
    string(APPEND changes "${text}")
  endforeach()
  string(SHA256 hash "${changes}")
  set(${result} "${hash}" PARENT_SCOPE)
endfunction()
