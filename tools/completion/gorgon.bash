# SPDX-License-Identifier: MIT
# bash's completion of gorgon and gorgon-symdump. The choices are read from what --help prints.

_gorgon_options()
{
    "$@" --help 2>/dev/null | grep -oE '(^|[ ,])--[a-z-]+' | tr -d ' ,' | sort -u
}

_gorgon_commands()
{
    "$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  *[a-z].*/\1/p'
}

# The values that an option of `gorgon run` takes.
_gorgon_values()
{
    case $1 in
        --debug) echo "auto full lazy off" ;;
        --isolate) echo "loader copy" ;;
        *) return 1 ;;
    esac
}

_gorgon()
{
    local program=$1 word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} values
    COMPREPLY=()
    # bash makes three words of --debug=full.
    [[ $word == = ]] && word=
    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
    if values=$(_gorgon_values "$before"); then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
    elif ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$(_gorgon_commands "$program") --help --version" -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_gorgon_options "$program" "${COMP_WORDS[1]}")" -- "$word")
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}

_gorgon_symdump()
{
    local word=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_gorgon_options "$1")" -- "$word")
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$word"; cd /proc && compgen -G "$word[0-9]*")
    fi
}

complete -F _gorgon gorgon
complete -F _gorgon_symdump gorgon-symdump
