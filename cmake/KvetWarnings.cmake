# Warnings and sanitizers for every target of the project.
# Members that an initializer does not name are zero in C++ and C alike: no need to name them all.
add_compile_options(-Wall -Wextra -Wshadow -Wno-missing-field-initializers $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>)
# GCC 12 warns of overlapping copies inside std::string's own assignment when it optimises (GCC bug 105651): not ours.
add_compile_options(-Wno-restrict)
if(KVET_WERROR)
  add_compile_options(-Werror)
endif()
if(KVET_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
# _FORTIFY_SOURCE and stack protection cost nothing here and stop hostile input early.
add_compile_options($<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2> -fstack-protector-strong)
