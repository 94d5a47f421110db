# SPDX-License-Identifier: MIT
# Completion of fathom-crash for fish.

function __fathom_crash_ids
    fathom-crash -o json list 2>/dev/null | string match -ar '"id": "[^"]+' | string replace '"id": "' ''
    echo last
end

set -l names install status list show core debug test watch capture analyse gc serve uninstall
complete -c fathom-crash -f
complete -c fathom-crash -s o -x -a 'text json' -d output
complete -c fathom-crash -l store -x -a '(__fish_complete_directories)' -d 'where the crashes are'
complete -c fathom-crash -l config -r -F -d 'the configuration'
complete -c fathom-crash -l users -r -F -d 'the socket of serve'
complete -c fathom-crash -s h -l help -d 'what it has'
complete -c fathom-crash -s V -l version -d 'the version'
set -l none "not __fish_seen_subcommand_from $names"
complete -c fathom-crash -n $none -a install -d 'have the kernel hand over each process that dies of a signal'
complete -c fathom-crash -n $none -a status -d 'whether crashes are captured'
complete -c fathom-crash -n $none -a list -d 'the crashes, the newest first'
complete -c fathom-crash -n $none -a show -d 'the report of a crash'
complete -c fathom-crash -n $none -a core -d 'write the core file'
complete -c fathom-crash -n $none -a debug -d 'open mdb on the core file'
complete -c fathom-crash -n $none -a test -d 'let a child crash'
complete -c fathom-crash -n $none -a watch -d 'capture a process that dies, without install'
complete -c fathom-crash -n $none -a capture -d 'capture a process that lives'
complete -c fathom-crash -n $none -a analyse -d 'make the report of a crash'
complete -c fathom-crash -n $none -a gc -d 'remove the oldest cores where the store is too large'
complete -c fathom-crash -n $none -a serve -d 'give each user the crashes of their own programs'
complete -c fathom-crash -n $none -a uninstall -d 'restore what was there before install'
complete -c fathom-crash -n '__fish_seen_subcommand_from install' -l keep-core -x -a 'no stacks heap full'
complete -c fathom-crash -n '__fish_seen_subcommand_from install' -l env -x -a 'list all'
complete -c fathom-crash -n '__fish_seen_subcommand_from install' -l mail -x
complete -c fathom-crash -n '__fish_seen_subcommand_from install' -l post -x
complete -c fathom-crash -n '__fish_seen_subcommand_from install' -l chain -d 'hand crashes on'
complete -c fathom-crash -n '__fish_seen_subcommand_from install' -l socket -d 'the kernel connects to a socket'
complete -c fathom-crash -n '__fish_seen_subcommand_from install' -l into-container -x -d 'a directory of containers'
complete -c fathom-crash -n '__fish_seen_subcommand_from uninstall' -l purge -d 'remove the crashes, too'
complete -c fathom-crash -n '__fish_seen_subcommand_from gc' -s n -l dry-run -d 'remove nothing'
complete -c fathom-crash -n '__fish_seen_subcommand_from gc' -l limit -x
complete -c fathom-crash -n '__fish_seen_subcommand_from test' -l keep -d 'keep the crash'
complete -c fathom-crash -n '__fish_seen_subcommand_from watch' -s p -x -a '(__fish_complete_pids)'
complete -c fathom-crash -n '__fish_seen_subcommand_from watch' -s c -x -a '(__fish_complete_command)'
complete -c fathom-crash -n '__fish_seen_subcommand_from watch' -s f -l follow -d 'children, too'
complete -c fathom-crash -n '__fish_seen_subcommand_from capture' -a '(__fish_complete_pids)'
complete -c fathom-crash -n '__fish_seen_subcommand_from show core debug analyse' -a '(__fathom_crash_ids)'
complete -c fathom-crash -n '__fish_seen_subcommand_from core' -F
