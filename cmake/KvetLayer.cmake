# kvet_layer(NAME [USES layer...] [LIBRARIES lib...] [BPF])
#
# One static library kvet_NAME from src/NAME/**.cpp, and one test program NAME_test from src/NAME/**_test.cpp. Headers
# are included as "NAME/file.h". With BPF, every src/NAME/**.bpf.c is compiled and its skeleton made available.
find_library(KVET_SQLITE NAMES libsqlite3.a sqlite3 REQUIRED)
find_library(KVET_LIBBPF_A NAMES libbpf.a bpf REQUIRED)
find_library(KVET_LIBELF_A NAMES libelf.a elf REQUIRED)
find_library(KVET_ZLIB_A NAMES libz.a z REQUIRED)
set(KVET_LIBBPF ${KVET_LIBBPF_A} ${KVET_LIBELF_A} ${KVET_ZLIB_A})

function(kvet_layer name)
  cmake_parse_arguments(ARG "BPF" "" "USES;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/glibc_floor(_test)?\\.cpp$")  # cmake/KvetPortable.cmake places these
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")

  list(TRANSFORM ARG_USES PREPEND kvet_)
  if(sources)
    add_library(kvet_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(kvet_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(kvet_${name} ${scope} ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(kvet_${name} ${scope} ${ARG_USES} ${ARG_LIBRARIES} Threads::Threads)
  if(ARG_BPF)
    kvet_bpf_skeletons(kvet_${name} ${CMAKE_SOURCE_DIR}/src/${name})
  endif()

  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE kvet_${name} GTest::gtest GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE KVET_SOURCE_DIR="${CMAKE_SOURCE_DIR}" KVET_BINARY_DIR="${CMAKE_BINARY_DIR}")
    add_test(NAME ${name} COMMAND ${name}_test)
  endif()
endfunction()
