# libdsajit.so out of the parts, and dsajit_internal: the same parts as they are, for unit tests.
# A test links one of the two, never both.

add_library(dsajit_internal INTERFACE)

foreach(part IN LISTS parts)
    if(TARGET dsajit_${part})
        list(APPEND part_targets dsajit_${part})
    endif()
endforeach()
if(NOT part_targets)
    return()
endif()
target_link_libraries(dsajit_internal INTERFACE ${part_targets})

# All objects, whether or not another part refers to them: the public API is called from outside.
add_library(dsajit SHARED)
add_library(dsajit::dsajit ALIAS dsajit)
foreach(target IN LISTS part_targets)
    target_sources(dsajit PRIVATE $<TARGET_OBJECTS:${target}>)
endforeach()
# The archives add nothing but what they depend on: their objects are there already.
target_link_libraries(dsajit PRIVATE ${part_targets} Threads::Threads ${CMAKE_DL_LIBS}
                      INTERFACE $<BUILD_INTERFACE:deps::dlpack>)
target_link_options(dsajit PRIVATE -Wl,--no-undefined -Wl,--as-needed)
target_include_directories(dsajit INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(dsajit PROPERTIES
    LINKER_LANGUAGE C VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
