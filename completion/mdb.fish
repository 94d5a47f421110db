# SPDX-License-Identifier: MIT
# Completion of mdb for fish: flags, core files, processes, the commands of -e.

# The last name within commands, with what is before it.
function __mdb_commands
    set -l text (commandline -ct | string trim --left --chars "'\"")
    set -l last (string match -r '[A-Za-z0-9_]*$' -- $text)
    set -l head (string replace -r '[A-Za-z0-9_]*$' '' -- $text)
    set -l kind
    string match -q '*::' -- $head; and set kind command
    string match -q '*::walk ' -- $head; and set kind walker
    test -n "$kind"; or return
    for line in (mdb --complete=$kind:$last 2>/dev/null)
        echo -- $head$line
    end
end

complete -c mdb -s e -x -d 'execute commands, and end' -a '(__mdb_commands)'
complete -c mdb -s o -x -d 'form of the output' -a 'text json'
complete -c mdb -s p -x -d 'hold a process' -a '(__fish_complete_pids)'
complete -c mdb -s S -x -d 'copy a process' -a '(__fish_complete_pids)'
complete -c mdb -s w -r -d 'keep the copy as a core file'
complete -c mdb -s D -x -d 'folder of systemd-coredump' -a '(__fish_complete_directories)'
complete -c mdb -s l -d 'list core files, or open the newest of a process'
complete -c mdb -s V -l version -d 'print the version'
complete -c mdb -s h -l help -d 'help'
