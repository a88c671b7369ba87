#!/usr/bin/env bash
# Sets up what is missing, then builds, demonstrates or tests dsajit. See --help.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$root/scripts/common.sh"
source "$root/scripts/packages.sh"
source "$root/scripts/rocm.sh"

usage() {
    cat <<'EOF'
usage: ./bootstrap.sh build | demo | test

  build   install what the build needs where it is missing, find or fetch ROCm, build into build/
  demo    build, then run the main job twice: the second run is a cache hit
  test    build, run every test, then run them again under address and undefined-behaviour sanitizers

A second run skips what is there. The command is build/dsajit afterwards.

environment:
  DSAJIT_ROCM_PATH, ROCM_PATH   a ROCm installation to use; next come /opt/rocm and the system's
                                library path; without any, a private copy is downloaded
  DSAJIT_ROCM_PREFIX            where the private copy lies (default: .rocm in this folder)
  CI                            not empty: warnings are errors
EOF
}

# configure_and_build FOLDER TARGET CMAKE_OPTION...
configure_and_build() {
    local folder=$root/$1 target=$2
    shift 2
    # The generator of a folder that exists can't change.
    if [ ! -e "$folder/CMakeCache.txt" ]; then
        set -- -G Ninja "$@"
    fi
    say "building in ${folder#"$root"/}"
    cmake -S "$root" -B "$folder" "$@" "-DDSAJIT_ROCM_PREFIX=$(moved_rocm_prefix)" \
        "-DDSAJIT_WERROR=$([ -n "${CI:-}" ] && echo ON || echo OFF)" --log-level=WARNING
    cmake --build "$folder" --target "$target" --parallel "$(nproc)"
}

build() {
    need_packages
    need_rocm
    configure_and_build build all -DCMAKE_BUILD_TYPE=Release
}

demo() {
    local job=(run sparse-mla --tokens 4 --heads 16 --topk 2048)
    build
    for pass in first second; do
        say "$pass run: build/dsajit ${job[*]}"
        "$root/build/dsajit" "${job[@]}"
    done
}

# run_tests FOLDER CTEST_OPTION...: shows what ctest shows and keeps it for the summary.
run_tests() {
    local folder=$root/$1
    say "testing in $1"
    shift
    ctest --test-dir "$folder" --parallel "$(nproc)" --output-on-failure --no-tests=error "$@" |
        tee "$folder/ctest.log"
}

run_all_tests() {
    build
    run_tests build
    configure_and_build build-asan all -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DDSAJIT_SANITIZE=address,undefined
    run_tests build-asan
    configure_and_build build-tsan threads_tests -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DDSAJIT_SANITIZE=thread
    run_tests build-tsan --label-regex threads
    say "summary"
    for folder in build build-asan build-tsan; do
        printf '%s: %s\n' "$folder" "$(grep 'tests passed' "$root/$folder/ctest.log")"
    done
}

case ${1:-} in
    build | demo | test)
        if [ $# -ne 1 ]; then
            usage >&2
            exit 2
        fi
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        exit 2
        ;;
esac

case $1 in
    build) build ;;
    demo) demo ;;
    test) run_all_tests ;;
esac
