# The only install rules; the parts have none of their own.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dsajit)

if(NOT TARGET dsajit)
    return()
endif()

install(TARGETS dsajit EXPORT dsajitTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/dsajit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES examples/decode_step.c DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
if(TARGET dsajit_emulator)
    install(TARGETS dsajit_emulator LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET dsajit-compiler)
    install(TARGETS dsajit-compiler RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/dsajit)
endif()
if(TARGET dsajit_tool)
    cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR}
               OUTPUT_VARIABLE bin_to_lib)
    set_target_properties(dsajit_tool PROPERTIES INSTALL_RPATH $ORIGIN/${bin_to_lib})
    install(TARGETS dsajit_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES completions/dsajit.bash
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME dsajit)
    install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
            FILES_MATCHING PATTERN *.1)
    install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man5
            FILES_MATCHING PATTERN *.5)
endif()

install(EXPORT dsajitTargets NAMESPACE dsajit:: DESTINATION ${package_dir})
configure_package_config_file(cmake/dsajitConfig.cmake.in generated/dsajitConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(generated/dsajitConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/dsajitConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/dsajitConfigVersion.cmake
        DESTINATION ${package_dir})

# A relocatable pkg-config file: the prefix is found from where the file lies.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
           BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE pc_to_prefix)
configure_file(cmake/dsajit.pc.in generated/dsajit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/dsajit.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
