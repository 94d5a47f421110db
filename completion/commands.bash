# SPDX-License-Identifier: MIT
# Completion of the ready-made commands for bash (package bash-completion): what -h of a command says that it has. There
# is a link to this file for each command.

# Options of a command from its -h, which is in $help: "-x", or "-x VALUE".
_fathom_options() { grep -oE '^-[a-zA-Z0-9]( [A-Z]+)?|^--json' <<<"$help"; }

# Completes the value of option $1, which -h calls $2.
_fathom_value() {
	case $1:$2 in
	-p:*) mapfile -t COMPREPLY < <(compgen -W "$(command ps -eo pid=)" -- "$cur") ;;
	-n:*) mapfile -t COMPREPLY < <(compgen -W "$(command ps -eo comm= | grep -xE '[A-Za-z0-9_.+-]+' | sort -u)" -- "$cur") ;;
	-d:SECONDS) mapfile -t COMPREPLY < <(compgen -W '1 5 10 30 60' -- "$cur") ;;
	-r:*) mapfile -t COMPREPLY < <(compgen -W '0 10 20 50 100' -- "$cur") ;;
	*:SIGNAL) mapfile -t COMPREPLY < <(compgen -A signal -- "$cur"; compgen -A signal -- "SIG$cur" | sed 's/^SIG//') ;;
	*:CALL) mapfile -t COMPREPLY < <(dtrace --complete="probe:syscall::$cur" 2>/dev/null | sed 's/^syscall:://; s/:$//') ;;
	*:PATH) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	*:LIBRARY) mapfile -t COMPREPLY < <(compgen -W 'a.out libc.so.6' -- "$cur") ;;
	esac
}

# Functions of the process that -p gives, which only root may list.
_fathom_function() {
	local i
	for ((i = 1; i < cword - 1; i++)); do
		[[ ${words[i]} != -p ]] ||
			mapfile -t COMPREPLY < <(dtrace --complete="probe:pid${words[i + 1]}::$cur" 2>/dev/null | sed 's/.*::\(.*\):$/\1/')
	done
}

_fathom_command() {
	local cur prev words cword help options i value operands=0 wanted=0
	_get_comp_words_by_ref cur prev words cword || return
	COMPREPLY=()
	help=$("$1" -h 2>/dev/null) || return
	options=$(_fathom_options)
	[[ $help != *$'\nusage: '*' FUNCTION'* ]] || wanted=1
	# which operand is it, or is it a word of COMMAND?
	for ((i = 1; i < cword; i++)); do
		value=$(grep -m 1 -oP -- "^\Q${words[i]}\E \K[A-Z]+" <<<"$options")
		if [[ ${words[i]} == -* ]]; then
			[[ -z $value ]] || ((i++))
		elif [[ $help == *'COMMAND}'* ]] && ((operands == wanted)); then
			_command_offset "$i"
			return
		else
			((operands++))
		fi
	done
	value=$(grep -m 1 -oP -- "^\Q$prev\E \K[A-Z]+" <<<"$options")
	if [[ $prev == -? && -n $value ]]; then
		_fathom_value "$prev" "$value"
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(cut -d ' ' -f 1 <<<"$options") -h --help" -- "$cur")
	elif ((operands < wanted)); then
		_fathom_function
	elif [[ $help == *$'\nusage: '*' PID|CORE'* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(command ps -eo pid=)" -- "$cur"; compgen -f -- "$cur")
	elif [[ $help == *'COMMAND}'* ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	elif [[ $help == *'[SECONDS'* ]] && ((operands < 2)); then
		mapfile -t COMPREPLY < <(compgen -W '1 5 10 60' -- "$cur")
	fi
}
complete -F _fathom_command "$(basename "${BASH_SOURCE[0]}")"
