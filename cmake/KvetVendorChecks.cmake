# Compiles every src/abi/vendor/*_check.cpp: static_asserts that hold kvet's own declarations against NVIDIA's headers,
# where the machine has these. Without them the files are empty; nothing else in the build may see the headers.
find_path(KVET_CUDA_INCLUDE NAMES cupti_pmsampling.h
          PATHS /usr/local/cuda/include /usr/local/cuda/extras/CUPTI/include /opt/cuda/include NO_DEFAULT_PATH)
file(GLOB checks CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/abi/vendor/*_check.cpp)
add_library(kvet_vendor_checks OBJECT ${checks})
target_include_directories(kvet_vendor_checks PRIVATE ${CMAKE_SOURCE_DIR}/src)
if(KVET_CUDA_INCLUDE)
  target_include_directories(kvet_vendor_checks SYSTEM PRIVATE ${KVET_CUDA_INCLUDE})
  message(STATUS "NVIDIA's headers: our declarations are checked against ${KVET_CUDA_INCLUDE}")
else()
  message(STATUS "NVIDIA's headers: none here, our declarations are not checked against them")
endif()

# The toolkit's occupancy calculator is the oracle of one test, which says so and skips where it is missing.
find_path(KVET_CUDA_OCCUPANCY NAMES cuda_occupancy.h PATHS /usr/local/cuda/include /opt/cuda/include NO_DEFAULT_PATH)
if(KVET_CUDA_OCCUPANCY)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/questions/occupancy_limits_oracle_test.cpp PROPERTIES
    COMPILE_OPTIONS "-isystem;${KVET_CUDA_OCCUPANCY}")
endif()
