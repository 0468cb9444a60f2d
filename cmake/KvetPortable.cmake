# kvet_portable(TARGET)
#
# With KVET_PORTABLE: a program or library that needs nothing but glibc 2.34 of the host. The C++ runtime is linked in;
# base/glibc_floor.cpp stands in for the two newer glibc functions that it would pull, and a test holds the result.
function(kvet_portable target)
  if(NOT KVET_PORTABLE)
    return()
  endif()
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  add_test(NAME glibc_floor_${target} COMMAND ${CMAKE_SOURCE_DIR}/scripts/check-glibc-floor $<TARGET_FILE:${target}>)
endfunction()
