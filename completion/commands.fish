# SPDX-License-Identifier: MIT
# Completion of a ready-made command for fish: what its -h says that it has. There is a link to this file for each command.

# Values of an option that -h calls $argv[1].
function __fathom_values
    switch $argv[1]
        case PID
            __fish_complete_pids
        case NAME
            ps -eo comm= | sort -u
        case SECONDS
            printf '%s\n' 1 5 10 30 60
        case N
            printf '%s\n' 0 10 20 50 100
        case SIGNAL
            kill -l | string split ' '
        case CALL
            dtrace --complete=probe:syscall::(commandline -ct) 2>/dev/null | string replace -r '^syscall::(.*):$' '$1'
        case LIBRARY
            printf '%s\n' a.out libc.so.6
        case PATH
            __fish_complete_path (commandline -ct)
    end
end

set -l fathom_command (basename (status filename) .fish)
set -l fathom_help ($fathom_command -h 2>/dev/null)
complete -c $fathom_command -f
for line in $fathom_help
    set -l with_value (string match -r '^-([a-zA-Z0-9]) ([A-Z]+) +(.*)' -- $line)
    set -l flag (string match -r '^-([a-zA-Z0-9])  +(.*)' -- $line)
    if test (count $with_value) -eq 4
        complete -c $fathom_command -s $with_value[2] -x -d $with_value[4] -a "(__fathom_values $with_value[3])"
    else if test (count $flag) -eq 3
        complete -c $fathom_command -s $flag[2] -d $flag[3]
    else if string match -q -- '--json *' $line
        complete -c $fathom_command -l json -d 'an object of JSON a line'
    end
end
complete -c $fathom_command -s h -l help -d 'what it has'
if string match -q -- '*COMMAND}*' "$fathom_help"
    complete -c $fathom_command -a '(__fish_complete_subcommand)'
end
if string match -q -- '* PID|CORE*' "$fathom_help"
    complete -c $fathom_command -F -a '(__fish_complete_pids)'
end
