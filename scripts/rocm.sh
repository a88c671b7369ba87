# shellcheck shell=bash
# Sourced by bootstrap.sh: finds ROCm in the order in which dsajit itself looks, or makes a private
# copy: the ROCm of Debian's experimental suite over its testing suite, down to the libc, downloaded
# by apt and unpacked, never installed. Needs no root and changes nothing on the system.

rocm_suite=experimental
base_suite=forky
rocm_packages=(libamdhip64-dev libamd-comgr-dev)
# What the compiler helper needs of a private copy: its own loader and the two libraries.
private_files=(
    usr/lib64/ld-linux-x86-64.so.2
    usr/lib/x86_64-linux-gnu/libhiprtc.so.7
    usr/lib/x86_64-linux-gnu/libamd_comgr.so.3
)

# Absolute: the build keeps it.
private_prefix() {
    realpath -m "${DSAJIT_ROCM_PREFIX:-$root/.rocm}"
}

# For the build: empty while the copy is where dsajit looks anyway.
moved_rocm_prefix() {
    if [ "$(private_prefix)" != "$root/.rocm" ]; then
        private_prefix
    fi
}

has_private_files() {
    local file
    for file in "${private_files[@]}"; do
        [ -e "$1/$file" ] || return 1
    done
}

is_rocm() {
    local folder
    for folder in "$1/lib" "$1/lib64" "$1/usr/lib/x86_64-linux-gnu"; do
        if compgen -G "$folder/libhiprtc.so*" >/dev/null &&
            compgen -G "$folder/libamd_comgr.so*" >/dev/null; then
            return 0
        fi
    done
    return 1
}

system_has_rocm() {
    local libraries
    libraries=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null) || return 1
    grep -q 'libhiprtc\.so' <<<"$libraries" && grep -q 'libamd_comgr\.so' <<<"$libraries"
}

need_rocm() {
    local name prefix
    for name in DSAJIT_ROCM_PATH ROCM_PATH; do
        if [ -n "${!name:-}" ]; then
            is_rocm "${!name}" || die "$name=${!name} has no libhiprtc.so and libamd_comgr.so"
            say "ROCm: ${!name} ($name)"
            return
        fi
    done
    prefix=$(private_prefix)
    if is_rocm /opt/rocm; then
        say "ROCm: /opt/rocm"
    elif system_has_rocm; then
        say "ROCm: the system's libraries"
    elif has_private_files "$prefix"; then
        say "ROCm: private copy in $prefix"
    else
        make_private_copy "$prefix"
    fi
}

# The unpacking happens in a sibling that is renamed when it is whole, under a lock: whatever is
# killed when, there is a complete copy or none.
make_private_copy() {
    local prefix=$1 part=$1.part
    if [ "$(uname -m)" != x86_64 ]; then
        die "no ROCm found, and the private copy exists for x86_64 only: install ROCm 7 and set ROCM_PATH"
    fi
    if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
        die "no ROCm found, and without apt no private copy can be made" \
            "install ROCm 7 (hipRTC and comgr) and set ROCM_PATH to where it is"
    fi
    if [ -d "$prefix" ] && [ -n "$(ls -A "$prefix")" ]; then
        die "$prefix exists and is no ROCm copy: remove it, or set DSAJIT_ROCM_PREFIX to another folder"
    fi
    mkdir -p "$(dirname "$prefix")"
    (
        flock 9
        if has_private_files "$prefix"; then
            exit 0 # made by another run while this one waited
        fi
        rm -rf "$part"
        trap 'rm -rf "$part"' EXIT
        trap 'exit 1' HUP INT TERM
        mkdir "$part"
        fill_private_copy "$part"
        mv -T "$part/copy" "$prefix"
    ) 9>"$prefix.lock"
    say "ROCm: private copy in $prefix ($(du -sh "$prefix" | cut -f 1))"
}

# The site of the machine's own main suite: not that of its updates, nor a third party's.
debian_site() {
    local codename
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    # shellcheck disable=SC2016 # apt expands these
    apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(SITE)' 'Created-By: Packages' |
        awk -v codename="$codename" '
            $2 == "main" && ($1 == codename || $1 ~ /^(oldstable|stable|testing|unstable|sid)$/) {
                print $3
                exit
            }'
}

# Where the distribution keeps its archive's keys; apt's default trust is used without.
debian_keyring() {
    local file
    for file in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
        if [ -r "$file" ]; then
            echo "signed-by=$file"
            return
        fi
    done
}

# fill_private_copy FOLDER: downloads into it and unpacks to FOLDER/copy.
fill_private_copy() {
    local folder=$1 site keyring options suite package
    site=$(debian_site)
    keyring=$(debian_keyring)
    if [ -z "$site" ]; then
        die "no ROCm found, and apt has no source to fetch a private copy from" \
            "install ROCm 7 and set ROCM_PATH, or add a Debian mirror to apt's sources"
    fi
    mkdir -p "$folder"/{state/lists/partial,cache/archives/partial,copy}
    # Nothing counts as installed, so that the closure reaches down to the libc.
    : >"$folder/state/status"
    for suite in "$base_suite" "$rocm_suite"; do
        # Mirrors often carry expired release files of these suites; signatures are still checked.
        echo "deb [arch=amd64 check-valid-until=no $keyring] $site $suite main"
    done >"$folder/sources.list"

    options=(
        -q
        -o Dir::State="$folder/state" -o Dir::State::status="$folder/state/status"
        -o Dir::Cache="$folder/cache" -o Dir::Log="$folder"
        -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null
        -o APT::Architecture=amd64 -o APT::Architectures=amd64 -o APT::Install-Recommends=false
        -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any
        -o Acquire::Languages=none -o Acquire::Retries=3
    )
    say "ROCm: none found; downloading a private copy (about 70 MB, 400 MB unpacked)"
    apt-get "${options[@]}" update ||
        die "apt could not read the suites $base_suite and $rocm_suite from its mirror (see above)" \
            "install ROCm 7 and set ROCM_PATH, or use a Debian mirror"
    apt-get "${options[@]}" install -y --download-only -t "$rocm_suite" "${rocm_packages[@]}" ||
        die "apt could not download ROCm (see above)"
    say "ROCm: unpacking"
    for package in "$folder"/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$folder/copy"
    done
    has_private_files "$folder/copy" ||
        die "the packages unpacked, but these are not all there: ${private_files[*]}"
}
