# SPDX-License-Identifier: MIT
# Completion of mdb for bash (package bash-completion): flags, core files, processes, the commands of -e.

# Completes the last name within commands that an open quote began. Readline closes the quote behind a single candidate,
# but commands go on: a second candidate keeps the quote open.
_mdb_commands() {
	local text=${cur#[\'\"]} last head
	last=${text##*[!A-Za-z0-9_]}
	head=${text%"$last"}
	case $head in
	*::walk\ ) mapfile -t COMPREPLY < <("$_mdb_command" --complete="walker:$last" 2>/dev/null | cut -f 1) ;;
	*::) mapfile -t COMPREPLY < <("$_mdb_command" --complete="command:$last" 2>/dev/null | cut -f 1) ;;
	*) return ;;
	esac
	COMPREPLY=("${COMPREPLY[@]/#/$head}")
	if [[ $cur == "$text" ]]; then
		__ltrim_colon_completions "$cur"
	elif [[ ${#COMPREPLY[@]} -eq 1 ]]; then
		COMPREPLY+=("${COMPREPLY[0]} ")
	fi
}

_mdb() {
	local cur prev _mdb_command=$1
	_get_comp_words_by_ref -n := cur prev || return
	COMPREPLY=()
	case $prev in
	-e) compopt -o nospace; _mdb_commands ;;
	-o) mapfile -t COMPREPLY < <(compgen -W 'text json' -- "$cur") ;;
	-p | -S | -l) mapfile -t COMPREPLY < <(compgen -W "$(command ps -eo pid=)" -- "$cur") ;;
	-D) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	*)
		case $cur in
		-*) mapfile -t COMPREPLY < <(compgen -W '-D -e -h -l -o -p -S -V -w --help --version' -- "$cur") ;;
		*) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		esac
		;;
	esac
}
complete -F _mdb mdb
