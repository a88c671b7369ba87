# The helper may run on the private copy's libc, whose loader the leak checker of an older compiler
# takes for a leak: it checks everything but leaks.
if(TARGET dsajit-compiler AND DSAJIT_SANITIZE MATCHES address)
    target_sources(dsajit-compiler PRIVATE ${PROJECT_SOURCE_DIR}/cmake/helper_asan.c)
endif()
