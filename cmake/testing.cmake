# dsajit_add_test(<name> SOURCES <file>... [LIBRARIES <target>...] [TIMEOUT <seconds>]
#                 [LABELS <label>...] [ENVIRONMENT <VAR=value>...] [ARGS <argument>...])
#
# A cmocka program tests/<name>, linked with LIBRARIES (default: dsajit) and run by ctest. Tests run
# against the build folder only: the cache and HOME lie below tests/state/<name>, helper and
# emulator are the built ones. TIMEOUT (default 120) is five times longer under a sanitizer.
# In the environment of each test:
#   DSAJIT_TEST_STATE     its own folder, may hold anything from earlier runs
#   DSAJIT_TEST_TOOL      the built command
#   DSAJIT_TEST_SOURCE    the repository root
# dsajit_set_test_environment(<test>...) does the same for a test made by add_test().

# What the thread sanitizer is to see: the tests with the label "threads" and what they run.
add_custom_target(threads_tests)

function(dsajit_set_test_environment)
    foreach(name IN LISTS ARGN)
        set(state ${PROJECT_BINARY_DIR}/tests/state/${name})
        file(MAKE_DIRECTORY ${state})
        set(environment
            HOME=set:${state}
            XDG_CACHE_HOME=set:${state}/cache
            DSAJIT_CACHE_DIR=unset:
            DSAJIT_TEMPLATE_DIR=unset:
            DSAJIT_TEST_STATE=set:${state}
            DSAJIT_TEST_SOURCE=set:${PROJECT_SOURCE_DIR})
        if(TARGET dsajit-compiler)
            list(APPEND environment DSAJIT_COMPILER=set:$<TARGET_FILE:dsajit-compiler>)
        endif()
        if(TARGET dsajit_emulator)
            list(APPEND environment DSAJIT_EMULATOR=set:$<TARGET_FILE:dsajit_emulator>)
        endif()
        if(TARGET dsajit_tool)
            list(APPEND environment DSAJIT_TEST_TOOL=set:$<TARGET_FILE:dsajit_tool>)
        endif()
        if(DSAJIT_ROCM_PREFIX)
            list(APPEND environment DSAJIT_ROCM_PREFIX=set:${DSAJIT_ROCM_PREFIX})
        else()
            list(APPEND environment DSAJIT_ROCM_PREFIX=set:${PROJECT_SOURCE_DIR}/.rocm)
        endif()
        get_property(wanted TEST ${name} PROPERTY TIMEOUT)
        if(NOT wanted)
            set(wanted 120)
        endif()
        if(DSAJIT_SANITIZE)
            math(EXPR wanted "5 * ${wanted}")
        endif()
        set_tests_properties(${name} PROPERTIES
            TIMEOUT ${wanted} ENVIRONMENT_MODIFICATION "${environment}")
    endforeach()
endfunction()

function(dsajit_add_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT;ARGS")
    if(NOT arg_LIBRARIES)
        set(arg_LIBRARIES dsajit)
    endif()
    add_executable(${name} ${arg_SOURCES})
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} deps::cmocka dsajit_warnings
                          Threads::Threads)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
    add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
    if(arg_TIMEOUT)
        set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
    endif()
    if(arg_LABELS)
        set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
        if("threads" IN_LIST arg_LABELS)
            add_dependencies(threads_tests ${name})
        endif()
    endif()
    if(arg_ENVIRONMENT)
        set_tests_properties(${name} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}")
    endif()
    dsajit_set_test_environment(${name})
    # The helper and the emulator are loaded at run time: nothing links them.
    foreach(needed dsajit-compiler dsajit_emulator dsajit_tool)
        if(TARGET ${needed})
            add_dependencies(${name} ${needed})
        endif()
    endforeach()
endfunction()
