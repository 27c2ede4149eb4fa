# SPDX-License-Identifier: MIT
# fish's completion of gorgon and gorgon-symdump. The choices are read from what --help prints.

function __gorgon_commands
    gorgon --help 2>/dev/null | string match -rg '^  ([a-z]+ +[a-z].*)' | string replace -r ' +' \t
end

function __gorgon_options
    set -l words (commandline -opc)
    $words[1] $words[2..2] --help 2>/dev/null | string match -ra '(?<![\w-])--[a-z-]+' | sort -u
end

complete -c gorgon -n __fish_use_subcommand -f -a '(__gorgon_commands)'
complete -c gorgon -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f -a '(__gorgon_options)'
complete -c gorgon -n '__fish_seen_subcommand_from run' -l debug -x -a 'auto full lazy off'
complete -c gorgon -n '__fish_seen_subcommand_from run' -l isolate -x -a 'loader copy'
complete -c gorgon-symdump -n 'not string match -q -- "-*" (commandline -ct)' -a '(__fish_complete_pids)'
complete -c gorgon-symdump -n 'string match -q -- "-*" (commandline -ct)' -f -a '(gorgon-symdump --help 2>/dev/null | string match -ra "(?<![\w-])--[a-z-]+" | sort -u)'
