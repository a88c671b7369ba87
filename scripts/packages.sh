# shellcheck shell=bash
# Sourced by bootstrap.sh: the build's own needs. Each is looked for itself, not as a package, so
# that any distribution will do; where one is missing, Debian's package of it is installed.

has_header() {
    printf '#include <%s>\n' "$1" | cc -E - >/dev/null 2>&1
}

has_module() {
    pkg-config --exists "$1" 2>/dev/null
}

has_cmake() {
    local version
    version=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p')
    [ -n "$version" ] && [ "$(printf '%s\n' 3.25 "$version" | sort -V | head -n 1)" = 3.25 ]
}

# One a line: the package (cmake of at least 3.25), and the test that makes it unnecessary.
needs='
gcc             command -v cc
libc6-dev       has_header stdio.h
cmake           has_cmake
ninja-build     command -v ninja
pkg-config      command -v pkg-config
libsodium-dev   has_module libsodium
libjansson-dev  has_module jansson
libarchive-dev  has_module libarchive
libcmocka-dev   has_module cmocka
libdlpack-dev   has_header dlpack/dlpack.h
'

missing_packages() {
    local package check
    while read -r package check; do
        if [ -n "$package" ] && ! $check >/dev/null; then
            echo "$package"
        fi
    done <<<"$needs"
}

need_packages() {
    local missing as_root=()
    mapfile -t missing < <(missing_packages)
    if [ ${#missing[@]} -eq 0 ]; then
        say "build dependencies: all there"
        return
    fi
    if ! command -v apt-get >/dev/null; then
        die "missing (names of the Debian packages): ${missing[*]}" \
            "apt-get is not on this machine: install them by the system's own means (cmake >= 3.25)"
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            die "missing packages, and no right to install them (neither root nor sudo without a password)" \
                "install: apt-get install ${missing[*]}"
        fi
        as_root=(sudo -n)
    fi
    say "installing ${missing[*]}"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update ||
        say "apt-get update failed; trying with the lists that are there"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q install -y --no-install-recommends "${missing[@]}" ||
        die "apt-get could not install: ${missing[*]}"
    mapfile -t missing < <(missing_packages)
    if [ ${#missing[@]} -ne 0 ]; then
        die "still missing or too old after installing: ${missing[*]} (cmake must be >= 3.25)"
    fi
}
