# dsajit_build_config: link it and #include "build_config.h" for the version and the places that
# only the build knows.

set(installed_libdir /${CMAKE_INSTALL_LIBDIR})
cmake_path(SET installed_helper_dir NORMALIZE /${CMAKE_INSTALL_LIBEXECDIR}/dsajit)
cmake_path(RELATIVE_PATH installed_helper_dir BASE_DIRECTORY ${installed_libdir}
           OUTPUT_VARIABLE DSAJIT_LIBDIR_TO_HELPER_DIR)
configure_file(cmake/build_config.h.in generated/build_config.h @ONLY)

add_library(dsajit_build_config INTERFACE)
target_include_directories(dsajit_build_config INTERFACE ${PROJECT_BINARY_DIR}/generated)
