# Warnings, for every target that links dsajit_warnings; sanitizers, for every target there is.

add_library(dsajit_warnings INTERFACE)
target_compile_options(dsajit_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
    -Wpointer-arith -Wwrite-strings -Wundef -Wformat=2
    # Wrong in any build, whatever DSAJIT_WERROR says.
    -Werror=implicit-function-declaration -Werror=incompatible-pointer-types
    -Werror=int-conversion -Werror=return-type -Werror=format)
if(DSAJIT_WERROR)
    target_compile_options(dsajit_warnings INTERFACE -Werror)
endif()

if(DSAJIT_SANITIZE)
    add_compile_options(-fsanitize=${DSAJIT_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${DSAJIT_SANITIZE})
endif()

find_package(Threads REQUIRED)
