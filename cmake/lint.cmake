# Targets: format (rewrite), format-check (fail on a difference), tidy (clang-tidy on what is built).

find_program(CLANG_FORMAT clang-format)
find_program(RUN_CLANG_TIDY run-clang-tidy)
mark_as_advanced(CLANG_FORMAT RUN_CLANG_TIDY)

set(sources bash ${PROJECT_SOURCE_DIR}/scripts/list-sources.sh)
if(CLANG_FORMAT)
    add_custom_target(format
        COMMAND ${sources} | xargs -0 ${CLANG_FORMAT} -i
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    add_custom_target(format-check
        COMMAND ${sources} | xargs -0 ${CLANG_FORMAT} --dry-run -Werror
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endif()
if(RUN_CLANG_TIDY)
    add_custom_target(tidy
        COMMAND ${RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR}
                "${PROJECT_SOURCE_DIR}/(src|helper|tools|tests)/"
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()
