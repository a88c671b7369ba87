# The distribution's libraries. Targets to link:
#   deps::sodium    libsodium: digests, signatures
#   deps::jansson   JSON
#   deps::dlpack    dlpack/dlpack.h (headers only)
#   deps::archive   libarchive; exists only where it is installed
#   deps::cmocka    cmocka; exists only with DSAJIT_TESTS
#   Threads::Threads and ${CMAKE_DL_LIBS} are CMake's own.

find_package(PkgConfig REQUIRED)

function(add_dependency name module need)
    pkg_check_modules(${name} ${need} QUIET IMPORTED_TARGET GLOBAL ${module})
    if(${name}_FOUND)
        add_library(deps::${name} ALIAS PkgConfig::${name})
    elseif(need STREQUAL REQUIRED)
        message(FATAL_ERROR "${module} not found: ./bootstrap.sh build names the packages")
    endif()
endfunction()

add_dependency(sodium libsodium REQUIRED)
add_dependency(jansson jansson REQUIRED)
add_dependency(archive libarchive "")
if(DSAJIT_TESTS)
    add_dependency(cmocka cmocka REQUIRED)
endif()

find_path(DLPACK_INCLUDE_DIR dlpack/dlpack.h REQUIRED)
mark_as_advanced(DLPACK_INCLUDE_DIR)
add_library(deps_dlpack INTERFACE)
target_include_directories(deps_dlpack SYSTEM INTERFACE ${DLPACK_INCLUDE_DIR})
add_library(deps::dlpack ALIAS deps_dlpack)
