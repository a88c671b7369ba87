# dsajit_embed_files(OUTPUT <file.c> SYMBOL <symbol> FILES <file>... [BASE <folder>])
#
# Writes <file.c> with the files' bytes and <file.h> beside it, which declares
#     struct embedded_file { const char *name; const char *bytes; size_t size; };
#     extern const struct embedded_file <symbol>[];
#     extern const size_t <symbol>_count;
# `name` is the path relative to BASE (default: templates/); `bytes` ends in a NUL that `size` does
# not count; the order is that of FILES. Add <file.c> to a target's sources, and the folder of
# <file.h> to its include folders.

add_executable(dsajit_embed ${PROJECT_SOURCE_DIR}/cmake/embed.c)
target_link_libraries(dsajit_embed PRIVATE dsajit_warnings)
set_target_properties(dsajit_embed PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/generated)

function(dsajit_embed_files)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUTPUT;SYMBOL;BASE" "FILES")
    if(NOT arg_BASE)
        set(arg_BASE ${PROJECT_SOURCE_DIR}/templates)
    endif()
    cmake_path(ABSOLUTE_PATH arg_OUTPUT BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    cmake_path(REPLACE_EXTENSION arg_OUTPUT LAST_ONLY h OUTPUT_VARIABLE header)
    foreach(file IN LISTS arg_FILES)
        cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
        cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${arg_BASE} OUTPUT_VARIABLE name)
        list(APPEND paths ${file})
        list(APPEND pairs ${name} ${file})
    endforeach()
    add_custom_command(
        OUTPUT ${arg_OUTPUT} ${header}
        COMMAND dsajit_embed ${arg_OUTPUT} ${header} ${arg_SYMBOL} ${pairs}
        DEPENDS dsajit_embed ${paths}
        COMMENT "Embedding ${arg_SYMBOL}"
        VERBATIM)
endfunction()
