# SPDX-License-Identifier: MIT
# Completion of memprof for fish. The ways are those that its usage lists.

complete -c memprof -f
complete -c memprof -n '__fish_is_first_token' -a "(memprof --help | sed -n '/^ways:/,/^options:/s/^  \([a-z]*\)  *\(.*\)/\1\t\2/p')"
complete -c memprof -n '__fish_seen_subcommand_from alive holds leaks' -F
complete -c memprof -s p -x -a '(__fish_complete_pids)' -d 'a process that runs'
complete -c memprof -s c -x -a '(__fish_complete_command)' -d 'runs a command'
complete -c memprof -s d -x -d 'ends after so many seconds'
complete -c memprof -s i -x -d 'differences every so many seconds'
complete -c memprof -s n -x -d 'rows'
complete -c memprof -s s -x -d 'frames of a row'
complete -c memprof -s o -x -d 'malloc: at least so many seconds old'
complete -c memprof -s r -x -d 'malloc: a sample, one of so many bytes'
complete -c memprof -l module -x -d 'malloc: only what calls in this file of the process ask for'
complete -c memprof -l by -x -a 'caller function' -d 'malloc: by who has called it, without stacks'
complete -c memprof -s C -l created -d 'objects: all that were created'
complete -c memprof -s m -l mixed -d 'native frames, too'
complete -c memprof -l json -d 'objects of JSON'
complete -c memprof -l flame -r -F -d 'a flame graph'
complete -c memprof -l show -d 'print the D program'
complete -c memprof -s x -x -d 'an option of dtrace'
complete -c memprof -s v -d 'say what becomes of the probes'
complete -c memprof -s h -l help -d 'what it has'
complete -c memprof -s V -l version -d 'the version'
