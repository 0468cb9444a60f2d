# kvet_portable(TARGET)
#
# With KVET_PORTABLE: a program or library that needs nothing but glibc 2.34 of the host. The C++ runtime is linked in;
# base/glibc_floor.cpp stands in for the two newer glibc functions that it would pull, and a test holds the result.
# The file is given to the target itself: in an archive it would come too early, before the runtime that asks for it.
function(kvet_portable target)
  if(NOT KVET_PORTABLE)
    return()
  endif()
  target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/base/glibc_floor.cpp)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  add_test(NAME glibc_floor_${target} COMMAND ${CMAKE_SOURCE_DIR}/scripts/check-glibc-floor $<TARGET_FILE:${target}>)
endfunction()

# What the stand-ins do, and that the check can fail.
function(kvet_portable_tests)
  if(NOT KVET_PORTABLE)
    return()
  endif()
  add_executable(glibc_floor_test ${CMAKE_SOURCE_DIR}/src/base/glibc_floor_test.cpp)
  target_link_libraries(glibc_floor_test PRIVATE GTest::gtest GTest::gtest_main Threads::Threads)
  kvet_portable(glibc_floor_test)
  add_test(NAME glibc_floor COMMAND glibc_floor_test)
  # Only with the static C++ runtime can the expansion of a crafted symbol name be stopped.
  add_executable(demangle_portable_test ${CMAKE_SOURCE_DIR}/src/base/demangle_test.cpp)
  target_link_libraries(demangle_portable_test PRIVATE kvet_base GTest::gtest GTest::gtest_main Threads::Threads)
  kvet_portable(demangle_portable_test)
  add_test(NAME demangle_portable COMMAND demangle_portable_test)
  # The same program linked the ordinary way needs the host's C++ runtime: the check has to refuse it.
  add_executable(glibc_floor_counterexample ${CMAKE_SOURCE_DIR}/src/base/glibc_floor_test.cpp)
  target_link_libraries(glibc_floor_counterexample PRIVATE GTest::gtest GTest::gtest_main Threads::Threads)
  add_test(NAME glibc_floor_refuses
           COMMAND ${CMAKE_SOURCE_DIR}/scripts/check-glibc-floor $<TARGET_FILE:glibc_floor_counterexample>)
  set_tests_properties(glibc_floor_refuses PROPERTIES PASS_REGULAR_EXPRESSION "needs libstdc\\+\\+")
endfunction()
