# kvet_bpf_skeletons(TARGET FOLDER)
#
# Compiles every *.bpf.c under FOLDER for the bpf target and generates its libbpf skeleton as
# <build>/bpf/NAME.skel.h, which TARGET can include as "bpf/NAME.skel.h". No vmlinux.h: each program declares the few
# kernel fields that it reads, with preserve_access_index, so the same source serves x86-64 and aarch64.
find_program(KVET_BPF_CLANG NAMES clang-14 clang-19 clang REQUIRED)
find_program(KVET_BPFTOOL NAMES bpftool PATHS /usr/sbin REQUIRED)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
  set(KVET_BPF_ARCH arm64)
else()
  set(KVET_BPF_ARCH x86)
endif()

function(kvet_bpf_skeletons target folder)
  file(GLOB_RECURSE programs CONFIGURE_DEPENDS ${folder}/*.bpf.c)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/abi/*.h ${folder}/*.bpf.h)
  set(out ${CMAKE_BINARY_DIR}/bpf)
  file(MAKE_DIRECTORY ${out})
  set(skeletons)
  foreach(program ${programs})
    get_filename_component(name ${program} NAME_WE)
    add_custom_command(
      OUTPUT ${out}/${name}.skel.h
      COMMAND ${KVET_BPF_CLANG} -target bpf -D__TARGET_ARCH_${KVET_BPF_ARCH} -g -O2 -Wall -Werror
              -I${CMAKE_SOURCE_DIR}/src -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
              -c ${program} -o ${out}/${name}.raw.o
      COMMAND ${KVET_BPFTOOL} gen object ${out}/${name}.o ${out}/${name}.raw.o
      COMMAND ${KVET_BPFTOOL} gen skeleton ${out}/${name}.o name ${name}_bpf > ${out}/${name}.skel.h
      DEPENDS ${program} ${headers}
      COMMENT "BPF ${name}"
      VERBATIM)
    list(APPEND skeletons ${out}/${name}.skel.h)
  endforeach()
  if(skeletons)
    add_custom_target(${target}_skeletons DEPENDS ${skeletons})
    add_dependencies(${target} ${target}_skeletons)
    target_include_directories(${target} SYSTEM PUBLIC ${CMAKE_BINARY_DIR})
  endif()
endfunction()
