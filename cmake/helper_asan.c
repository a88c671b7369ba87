/* Linked into an address-sanitized dsajit-compiler only: see helper_options.cmake. */
const char *__asan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
