# SPDX-License-Identifier: MIT
# Completion of fathom-crash for bash. Ids and processes are those that the command lists, which are root's or the user's own.

_fathom_crash_ids() {
	fathom-crash -o json list 2>/dev/null | grep -oP '"id": "\K[^"]+'
	echo last
}

_fathom_crash() {
	local cur prev words cword command= i
	_get_comp_words_by_ref cur prev words cword || return
	COMPREPLY=()
	for ((i = 1; i < cword; i++)); do
		case ${words[i]} in
		-o | --store | --config | --root | --users) ((i++)) ;;
		-*) ;;
		*) command=${words[i]}; break ;;
		esac
	done
	case $prev in
	-o) mapfile -t COMPREPLY < <(compgen -W 'text json' -- "$cur"); return ;;
	--keep-core) mapfile -t COMPREPLY < <(compgen -W 'no stacks heap full' -- "$cur"); return ;;
	--env) mapfile -t COMPREPLY < <(compgen -W 'list all' -- "$cur"); return ;;
	--store | --root) compopt -o dirnames; return ;;
	--config | --users | --capturer | --analyser) compopt -o default; return ;;
	-p) mapfile -t COMPREPLY < <(compgen -W "$(command ps -eo pid=)" -- "$cur"); return ;;
	-c) mapfile -t COMPREPLY < <(compgen -c -- "$cur"); return ;;
	esac
	case $command:$cur in
	:-*) mapfile -t COMPREPLY < <(compgen -W '-o --store --config --root --users --help --version' -- "$cur") ;;
	:*) mapfile -t COMPREPLY < <(compgen -W 'install status list show core debug test watch capture analyse gc serve uninstall' -- "$cur") ;;
	install:-*) mapfile -t COMPREPLY < <(compgen -W '--keep-core --mail --post --env --chain --socket --into-container' -- "$cur") ;;
	uninstall:-*) mapfile -t COMPREPLY < <(compgen -W '--purge' -- "$cur") ;;
	gc:-*) mapfile -t COMPREPLY < <(compgen -W '-n --limit' -- "$cur") ;;
	test:-*) mapfile -t COMPREPLY < <(compgen -W '--keep' -- "$cur") ;;
	watch:-*) mapfile -t COMPREPLY < <(compgen -W '-p -c -f' -- "$cur") ;;
	capture:*) mapfile -t COMPREPLY < <(compgen -W "$(command ps -eo pid=)" -- "$cur") ;;
	show:* | core:* | debug:* | analyse:*) mapfile -t COMPREPLY < <(compgen -W "$(_fathom_crash_ids)" -- "$cur") ;;
	esac
}
complete -F _fathom_crash fathom-crash
