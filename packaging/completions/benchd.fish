# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_benchd_global_optspecs
    string join \n config= socket= output= h/help V/version
end

function __fish_benchd_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_benchd_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_benchd_using_subcommand
    set -l cmd (__fish_benchd_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c benchd -n "__fish_benchd_needs_command" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_needs_command" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_needs_command" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_needs_command" -s V -l version -d 'Print version'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "serve" -d 'The daemon: samples, serves metrics and the API, runs suites when they are due or asked for'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "status" -d 'What the daemon does, its suites, and what would stop them now'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "check" -d 'All problems of the configuration at once'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "plan" -d 'What a run of a suite would do, and the guards as they are now'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "run" -d 'Run a suite, or one workload ad hoc, and follow it'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "watch" -d 'Follow the active run, or the named one'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "cancel" -d 'End the active run, or the named one'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "list" -d 'Runs, newest first; or the suites, the targets, the guards, the workloads'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "show" -d 'A finished run, or one of its cases in full'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "compare" -d 'The cases of a run as a table, or two runs case by case'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "scratch" -d 'What benchd owns where, with sizes; and its removal'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "grants" -d 'The statements that let benchd into a server, for its administrator to run'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "unit" -d 'The systemd drop-in this configuration needs, or that it needs none'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "store" -d 'The result store: its size, a copy of it, a look through all of it'
complete -c benchd -n "__fish_benchd_using_subcommand serve" -l run-now -d 'Run this suite once as soon as everything is ready, and show it' -r
complete -c benchd -n "__fish_benchd_using_subcommand serve" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand serve" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand serve" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand serve" -l check -d 'Check the configuration as `benchd check` does, and end'
complete -c benchd -n "__fish_benchd_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand status" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand status" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand status" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand check" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand check" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand check" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand check" -l strict -d 'Notes count as problems'
complete -c benchd -n "__fish_benchd_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand plan" -l case -d 'Only cases whose name matches (* and ?)' -r
complete -c benchd -n "__fish_benchd_using_subcommand plan" -l scale -d 'Multiply rows, operations, file sizes and times by this [default: the suite\'s scale]' -r
complete -c benchd -n "__fish_benchd_using_subcommand plan" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand plan" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand plan" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand run" -s w -l workload -d 'Run this workload instead of a suite; keys follow as key=value, lists make a matrix' -r
complete -c benchd -n "__fish_benchd_using_subcommand run" -l case -d 'Only cases whose name matches (* and ?)' -r
complete -c benchd -n "__fish_benchd_using_subcommand run" -l scale -d 'Multiply rows, operations, file sizes and times by this [default: the suite\'s scale]' -r
complete -c benchd -n "__fish_benchd_using_subcommand run" -l rounds -d 'Run all cases so often, in an order that alternates [default: the suite\'s rounds]' -r
complete -c benchd -n "__fish_benchd_using_subcommand run" -l note -d 'What to remember about this run' -r
complete -c benchd -n "__fish_benchd_using_subcommand run" -l override -d 'Run although these guards do not hold: window' -r
complete -c benchd -n "__fish_benchd_using_subcommand run" -l progress -d 'How progress is shown' -r -f -a "auto\t'Bars on a terminal, lines elsewhere'
bars\t'Redrawn in place'
lines\t'One line an interval'
none\t'Only the result of each case'"
complete -c benchd -n "__fish_benchd_using_subcommand run" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand run" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand run" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand run" -l wait -d 'Wait for the active run, or for the suite\'s window'
complete -c benchd -n "__fish_benchd_using_subcommand run" -l detach -d 'Start it, print its id, and return'
complete -c benchd -n "__fish_benchd_using_subcommand run" -l local -d 'Run in this process even when a daemon answers'
complete -c benchd -n "__fish_benchd_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand watch" -l progress -d 'How progress is shown' -r -f -a "auto\t'Bars on a terminal, lines elsewhere'
bars\t'Redrawn in place'
lines\t'One line an interval'
none\t'Only the result of each case'"
complete -c benchd -n "__fish_benchd_using_subcommand watch" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand watch" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand watch" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand cancel" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand cancel" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand cancel" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand cancel" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand list" -l suite -d 'Only runs of this suite' -r
complete -c benchd -n "__fish_benchd_using_subcommand list" -l outcome -d 'Only runs that ended so: finished, failed, blocked, aborted, cancelled' -r
complete -c benchd -n "__fish_benchd_using_subcommand list" -l limit -d 'At most so many runs' -r
complete -c benchd -n "__fish_benchd_using_subcommand list" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand list" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand list" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand show" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand show" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand show" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l rows -d 'Keys whose values make the rows: engine,target [default: those that vary]' -r
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l columns -d 'Keys whose values make the columns: threads' -r
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l measure -d 'throughput, p50, p95 or p99 [default: throughput in closed loop, p95 in open loop]' -r
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l margin -d 'Differences inside this are none [default: 2%]' -r
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand scratch" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand scratch" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand scratch" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand scratch" -l remove -d 'Remove it: data of scratch servers, tables on servers one by one, each after the proof that benchd made it'
complete -c benchd -n "__fish_benchd_using_subcommand scratch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l password -d 'Log in with a password even over the socket; by TCP there is no other way'
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l revoke -d 'The way back'
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l check -d 'Compare with what the account has; exit 1 when it lacks something or has more'
complete -c benchd -n "__fish_benchd_using_subcommand grants" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand unit" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand unit" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand unit" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand unit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -f -a "info" -d 'Where it is and how much it holds'
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -f -a "backup" -d 'Write a copy as of now, also while the daemon runs; it can take the store\'s place'
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -f -a "verify" -d 'Look through all of it; exit 1 when it is damaged'
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from info" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from info" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from info" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from info" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from backup" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from backup" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from backup" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from backup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from verify" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from verify" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from verify" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
