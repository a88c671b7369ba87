# shellcheck shell=bash
# Bash completion of dsajit. What there is to complete is asked of the command itself:
# "dsajit help --completion" prints a line for each command, its name, a tab and its options.

# The words of the command line before the one at the cursor that are no options, with blanks
# between them; "help" counts for nothing, since it takes a command's name.
_dsajit_typed() {
    local word typed=
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in
        -* | =) ;;
        help) [ -z "$typed" ] || typed+="$word " ;;
        *) typed+="$word " ;;
        esac
    done
    printf '%s' "${typed% }"
}

# The option whose value is being typed: "--option VALUE", or "--option=VALUE", which bash splits
# at the '='.
_dsajit_option() {
    local at=$((COMP_CWORD - 1))
    if [ "${COMP_WORDS[COMP_CWORD]}" != = ] && [ "${COMP_WORDS[at]}" = = ]; then
        at=$((at - 1))
    fi
    case ${COMP_WORDS[at]} in
    --?*) printf '%s' "${COMP_WORDS[at]}" ;;
    esac
}

# Values as the option's help names them.
_dsajit_complete_value() {
    local kind=$1 current=$2
    [ "$current" != = ] || current=
    case $kind in
    *'|'*) mapfile -t COMPREPLY < <(compgen -W "${kind//|/ }" -- "$current") ;;
    DIR) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    FILE | SECRET | PUBLIC | *.JSON) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    esac
}

_dsajit() {
    local current=${COMP_WORDS[COMP_CWORD]} typed option name options rest next=() found=
    COMPREPLY=()
    typed=$(_dsajit_typed)
    option=$(_dsajit_option)
    while IFS=$'\t' read -r name options; do
        if [ "$typed" = "$name" ] || [ "${typed#"$name" }" != "$typed" ]; then
            found=$options
        elif [ -z "$typed" ] || [ "${name#"$typed" }" != "$name" ]; then
            rest=${name#"$typed"}
            rest=${rest# }
            next+=("${rest%% *}")
        fi
    done < <("${COMP_WORDS[0]}" help --completion 2>/dev/null)
    [ -n "$found" ] || found='--help --usage --version'

    if [ -n "$option" ]; then
        for name in $found; do
            if [ "${name%%=*}" = "$option" ] && [ "$name" != "$option" ]; then
                _dsajit_complete_value "${name#*=}" "$current"
                return
            fi
        done
    fi
    case $current in
    -*)
        options=
        for name in $found; do
            options+="${name%%=*} "
        done
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
        ;;
    *)
        mapfile -t COMPREPLY < <(compgen -W "${next[*]}" -- "$current" | sort -u)
        [ "${#next[@]}" -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
        ;;
    esac
}

complete -o filenames -F _dsajit dsajit
