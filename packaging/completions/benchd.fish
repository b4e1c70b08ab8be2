# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_benchd_global_optspecs
    string join \n config= socket= url= user= ca= output= h/help V/version
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
complete -c benchd -n "__fish_benchd_needs_command" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_needs_command" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_needs_command" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
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
complete -c benchd -n "__fish_benchd_needs_command" -f -a "user" -d 'Users, roles and the certificate of the HTTP interface'
complete -c benchd -n "__fish_benchd_needs_command" -f -a "scrape-config" -d 'What a Prometheus needs to scrape this host'
complete -c benchd -n "__fish_benchd_using_subcommand serve" -l run-now -d 'Run this suite once as soon as everything is ready, and show it' -r
complete -c benchd -n "__fish_benchd_using_subcommand serve" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand serve" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand serve" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand serve" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand serve" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand serve" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand serve" -l check -d 'Check the configuration as `benchd check` does, and end'
complete -c benchd -n "__fish_benchd_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand status" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand status" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand status" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand status" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand status" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand status" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand check" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand check" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand check" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand check" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand check" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand check" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand check" -l strict -d 'Notes count as problems'
complete -c benchd -n "__fish_benchd_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand plan" -l case -d 'Only cases whose name matches (* and ?)' -r
complete -c benchd -n "__fish_benchd_using_subcommand plan" -l scale -d 'Multiply rows, operations, file sizes and times by this [default: the suite\'s scale]' -r
complete -c benchd -n "__fish_benchd_using_subcommand plan" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand plan" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand plan" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand plan" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand plan" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
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
complete -c benchd -n "__fish_benchd_using_subcommand run" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand run" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand run" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
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
complete -c benchd -n "__fish_benchd_using_subcommand watch" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand watch" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand watch" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand watch" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand cancel" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand cancel" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand cancel" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand cancel" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand cancel" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand cancel" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand cancel" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand list" -l suite -d 'Only runs of this suite' -r
complete -c benchd -n "__fish_benchd_using_subcommand list" -l outcome -d 'Only runs that ended so: finished, failed, blocked, aborted, cancelled' -r
complete -c benchd -n "__fish_benchd_using_subcommand list" -l limit -d 'At most so many runs' -r
complete -c benchd -n "__fish_benchd_using_subcommand list" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand list" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand list" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand list" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand list" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand list" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand show" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand show" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand show" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand show" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand show" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand show" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l rows -d 'Keys whose values make the rows: engine,target [default: those that vary]' -r
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l columns -d 'Keys whose values make the columns: threads' -r
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l measure -d 'throughput, p50, p95 or p99 [default: throughput in closed loop, p95 in open loop]' -r
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l margin -d 'Differences inside this are none [default: 2%]' -r
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l fail-on -d 'Exit with 6 when anything is worse' -r -f -a "worse\t''"
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand compare" -l anyway -d 'Show the ratios of what is not comparable too, without a verdict'
complete -c benchd -n "__fish_benchd_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand scratch" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand scratch" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand scratch" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand scratch" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand scratch" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand scratch" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand scratch" -l remove -d 'Remove it: data of scratch servers, tables on servers one by one, each after the proof that benchd made it'
complete -c benchd -n "__fish_benchd_using_subcommand scratch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l password -d 'Log in with a password even over the socket; by TCP there is no other way'
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l revoke -d 'The way back'
complete -c benchd -n "__fish_benchd_using_subcommand grants" -l check -d 'Compare with what the account has; exit 1 when it lacks something or has more'
complete -c benchd -n "__fish_benchd_using_subcommand grants" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand unit" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand unit" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand unit" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand unit" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand unit" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand unit" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand unit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -f -a "info" -d 'Where it is and how much it holds'
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -f -a "backup" -d 'Write a copy as of now, also while the daemon runs; it can take the store\'s place'
complete -c benchd -n "__fish_benchd_using_subcommand store; and not __fish_seen_subcommand_from info backup verify" -f -a "verify" -d 'Look through all of it; exit 1 when it is damaged'
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from info" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from info" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from info" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from info" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from info" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from info" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from info" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from backup" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from backup" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from backup" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from backup" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from backup" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from backup" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from backup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from verify" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from verify" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from verify" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from verify" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from verify" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from verify" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand store; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand user; and not __fish_seen_subcommand_from add remove list tls" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and not __fish_seen_subcommand_from add remove list tls" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and not __fish_seen_subcommand_from add remove list tls" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand user; and not __fish_seen_subcommand_from add remove list tls" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand user; and not __fish_seen_subcommand_from add remove list tls" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and not __fish_seen_subcommand_from add remove list tls" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand user; and not __fish_seen_subcommand_from add remove list tls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand user; and not __fish_seen_subcommand_from add remove list tls" -f -a "add" -d 'Add a user, or give one a new password or role'
complete -c benchd -n "__fish_benchd_using_subcommand user; and not __fish_seen_subcommand_from add remove list tls" -f -a "remove" -d 'Remove a user'
complete -c benchd -n "__fish_benchd_using_subcommand user; and not __fish_seen_subcommand_from add remove list tls" -f -a "list" -d 'The users, with roles and their last visit'
complete -c benchd -n "__fish_benchd_using_subcommand user; and not __fish_seen_subcommand_from add remove list tls" -f -a "tls" -d 'Speak TLS: with a certificate that is made here, or with one that exists'
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from add" -l role -d 'What the user may do: scrape, read, trigger, admin; each includes those before it' -r
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from add" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from add" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from add" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from add" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from add" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from add" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from remove" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from remove" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from remove" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from remove" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from remove" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from remove" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from list" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from list" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from list" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from list" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from list" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from list" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from tls" -l name -d 'A further name or address of this host, for --self-signed' -r
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from tls" -l cert -d 'PEM file of a certificate that exists' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from tls" -l key -d 'PEM file of its private key' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from tls" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from tls" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from tls" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from tls" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from tls" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from tls" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from tls" -l self-signed -d 'Make a certificate of this host\'s names and addresses, signed by itself'
complete -c benchd -n "__fish_benchd_using_subcommand user; and __fish_seen_subcommand_from tls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c benchd -n "__fish_benchd_using_subcommand scrape-config" -l host -d 'Name or address by which Prometheus reaches this host [default: the host\'s name]' -r
complete -c benchd -n "__fish_benchd_using_subcommand scrape-config" -l config -d 'Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand scrape-config" -l socket -d 'Socket of the daemon [default: the configuration\'s]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand scrape-config" -l url -d 'Ask the daemon of another host: https://HOST:10104' -r
complete -c benchd -n "__fish_benchd_using_subcommand scrape-config" -l user -d 'User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for' -r
complete -c benchd -n "__fish_benchd_using_subcommand scrape-config" -l ca -d 'PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]' -r -F
complete -c benchd -n "__fish_benchd_using_subcommand scrape-config" -l output -d 'How answers are written' -r -f -a "text\t'For people; may change'
json\t'One JSON object; may only grow'
jsonl\t'One JSON object a line as things happen'"
complete -c benchd -n "__fish_benchd_using_subcommand scrape-config" -l file-sd -d 'The target for a file of file_sd_configs, in place of a whole job'
complete -c benchd -n "__fish_benchd_using_subcommand scrape-config" -s h -l help -d 'Print help (see more with \'--help\')'
