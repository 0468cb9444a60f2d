# Compiles docs/queries/*.sql into a layer, so that the queries that are documented are the ones that kvet runs.
function(kvet_embed_queries target)
  file(GLOB queries CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/queries/*.sql)
  list(FILTER queries EXCLUDE REGEX "/views\\.sql$")  # made by the code
  set(entries "")
  foreach(query ${queries})
    get_filename_component(name ${query} NAME_WE)
    file(READ ${query} text)
    string(APPEND entries "    {\"${name}\", R\"kvet(${text})kvet\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${query})
  endforeach()
  set(generated ${CMAKE_BINARY_DIR}/generated/store/documented_queries_text.cpp)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT
"// Made by cmake/KvetQueries.cmake from docs/queries.
#include \"store/documented_queries.h\"

namespace kvet::store {

std::span<const DocumentedQuery> documented_queries() {
  static constexpr DocumentedQuery queries[] = {
@entries@  };
  return queries;
}

}  // namespace kvet::store
")
  target_sources(${target} PRIVATE ${generated})
endfunction()
