# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_gatewayd_global_optspecs
    string join \n h/help V/version
end

function __fish_gatewayd_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_gatewayd_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_gatewayd_using_subcommand
    set -l cmd (__fish_gatewayd_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c gatewayd -n "__fish_gatewayd_needs_command" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "check" -d 'Check a configuration without starting anything'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "completions" -d 'Print the script with which a shell completes the command line'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "diff" -d 'Print what differs between two configurations, by what the change costs'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "document" -d 'Print the page about the settings'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "drain" -d 'Take a node of a running process out of rotation'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "effective" -d 'Print a configuration with everything spelled out'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "explain" -d 'Explain the code of a diagnostic'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "front-door" -d 'Put one address before a cluster'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "manual" -d 'Write the pages of the manual into a directory'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "reload" -d 'Let a running process read its configuration again, as SIGHUP does'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "rollback" -d 'Let a running process serve a snapshot that it kept'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "run" -d 'Serve a configuration'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "schema" -d 'Print what a configuration may say, as JSON Schema for editors'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "snapshots" -d 'Print the snapshots that a running process kept'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "status" -d 'Print what a running process serves, and how its nodes are'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "stop" -d 'Let a running process end: requests in flight end first'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "trace" -d 'Print the way a request would go, and why; nothing is sent'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "undrain" -d 'Let a node of a running process into rotation again'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "workers" -d 'Set the number of workers of a running process'
complete -c gatewayd -n "__fish_gatewayd_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and not __fish_seen_subcommand_from front-door help" -l config -d 'The same, spelled as for `run`' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and not __fish_seen_subcommand_from front-door help" -l format -d 'For people, or for programs' -r -f -a "json\t'One JSON document'
text\t'With the lines they are about'"
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and not __fish_seen_subcommand_from front-door help" -l files -d 'Also look at the files it names: certificates, keys, directories, logs'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and not __fish_seen_subcommand_from front-door help" -s v -l verbose -d 'Say so when all is well'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and not __fish_seen_subcommand_from front-door help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and not __fish_seen_subcommand_from front-door help" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and not __fish_seen_subcommand_from front-door help" -a "front-door" -d 'The configuration of a front door, by its flags'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and not __fish_seen_subcommand_from front-door help" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l cluster -d 'The cluster\'s own file: name and address of every node' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l upstream -d 'A node; goes before the address in the cluster\'s file' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l query-timeout -d 'The budget of the four data routes that have 60s; keep it at or above the nodes\' own' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l max-retries -d 'Further tries, each on another node [default: 2]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l in-flight -d 'Requests in flight per node [default: 32]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l queue-wait -d 'Longest wait for a free slot [default: 5s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l connect-timeout -d 'Connect and handshake, each try [default: 2s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l health-interval -d 'From one probe of a node to the next; a bare number is milliseconds [default: 2s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l health-timeout -d 'How long a probe may take; a bare number is milliseconds [default: 1s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l health-fail -d 'Consecutive failures to leave rotation [default: 3]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l health-pass -d 'Consecutive good probes to return [default: 2]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l tls-cert -d 'Certificate chain shown to clients; needs --tls-key' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l tls-key -d 'Its private key, readable by its owner only' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l upstream-ca -d 'TLS to the nodes, trusting only this file; the name checked is the node\'s name' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l read-timeout -d 'The whole request head, and each silence inside a body [default: 30s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l workers -d 'Worker threads [default: available cores]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l access-log -d 'One line per request: off, stdout, or the file it is appended to, as a path with a / in it [default: stdout]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l discover -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l discover-credentials -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l admin-addr -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l cluster-id -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l format -d 'For people, or for programs' -r -f -a "json\t'One JSON document'
text\t'With the lines they are about'"
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l no-ddl -d 'Carry the data routes only'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l allow-ops -d 'Carry the operator\'s routes too'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l insecure-skip-verify -d 'TLS to the nodes without checking their certificates'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l insecure-no-tls -d 'Allow clear text with clients and nodes on other machines'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l trust-forwarded-for -d 'Append to a client\'s X-Forwarded-For instead of replacing it'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l print-config -d 'Print the gateway.toml that asks for the same, and end'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -l files -d 'Also look at the files it names: certificates, keys, directories, logs'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -s v -l verbose -d 'Say so when all is well'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from front-door" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from help" -f -a "front-door" -d 'The configuration of a front door, by its flags'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand check; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand completions" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand completions" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand diff" -l old -d 'The configuration there is, where it is several files or folders' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand diff" -l new -d 'The one to come, where it is several' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand diff" -l control -d 'The socket of the running process' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand diff" -l state-dir -d 'The state directory of the running process, where its socket is' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand diff" -l format -d 'For people, or for programs' -r -f -a "json\t'One JSON document'
text\t'With the lines they are about'"
complete -c gatewayd -n "__fish_gatewayd_using_subcommand diff" -l running -d 'What a running process serves'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand diff" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand document" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand document" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand drain" -l control -d 'The socket of the running process' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand drain" -l state-dir -d 'The state directory of the running process, where its socket is' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand drain" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand drain" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and not __fish_seen_subcommand_from front-door help" -l config -d 'The same, spelled as for `run`' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and not __fish_seen_subcommand_from front-door help" -l control -d 'The socket of the running process' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and not __fish_seen_subcommand_from front-door help" -l state-dir -d 'The state directory of the running process, where its socket is' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and not __fish_seen_subcommand_from front-door help" -l origin -d 'Say behind each setting where it was written; what a route takes from its pool is a default'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and not __fish_seen_subcommand_from front-door help" -l running -d 'What a running process serves'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and not __fish_seen_subcommand_from front-door help" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and not __fish_seen_subcommand_from front-door help" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and not __fish_seen_subcommand_from front-door help" -a "front-door" -d 'The configuration of a front door, by its flags'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and not __fish_seen_subcommand_from front-door help" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l cluster -d 'The cluster\'s own file: name and address of every node' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l upstream -d 'A node; goes before the address in the cluster\'s file' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l query-timeout -d 'The budget of the four data routes that have 60s; keep it at or above the nodes\' own' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l max-retries -d 'Further tries, each on another node [default: 2]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l in-flight -d 'Requests in flight per node [default: 32]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l queue-wait -d 'Longest wait for a free slot [default: 5s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l connect-timeout -d 'Connect and handshake, each try [default: 2s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l health-interval -d 'From one probe of a node to the next; a bare number is milliseconds [default: 2s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l health-timeout -d 'How long a probe may take; a bare number is milliseconds [default: 1s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l health-fail -d 'Consecutive failures to leave rotation [default: 3]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l health-pass -d 'Consecutive good probes to return [default: 2]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l tls-cert -d 'Certificate chain shown to clients; needs --tls-key' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l tls-key -d 'Its private key, readable by its owner only' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l upstream-ca -d 'TLS to the nodes, trusting only this file; the name checked is the node\'s name' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l read-timeout -d 'The whole request head, and each silence inside a body [default: 30s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l workers -d 'Worker threads [default: available cores]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l access-log -d 'One line per request: off, stdout, or the file it is appended to, as a path with a / in it [default: stdout]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l discover -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l discover-credentials -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l admin-addr -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l cluster-id -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l no-ddl -d 'Carry the data routes only'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l allow-ops -d 'Carry the operator\'s routes too'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l insecure-skip-verify -d 'TLS to the nodes without checking their certificates'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l insecure-no-tls -d 'Allow clear text with clients and nodes on other machines'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l trust-forwarded-for -d 'Append to a client\'s X-Forwarded-For instead of replacing it'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l print-config -d 'Print the gateway.toml that asks for the same, and end'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -l origin -d 'Say behind each setting where it was written; what a route takes from its pool is a default'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from front-door" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from help" -f -a "front-door" -d 'The configuration of a front door, by its flags'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand effective; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand explain" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand explain" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l cluster -d 'The cluster\'s own file: name and address of every node' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l upstream -d 'A node; goes before the address in the cluster\'s file' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l query-timeout -d 'The budget of the four data routes that have 60s; keep it at or above the nodes\' own' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l max-retries -d 'Further tries, each on another node [default: 2]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l in-flight -d 'Requests in flight per node [default: 32]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l queue-wait -d 'Longest wait for a free slot [default: 5s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l connect-timeout -d 'Connect and handshake, each try [default: 2s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l health-interval -d 'From one probe of a node to the next; a bare number is milliseconds [default: 2s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l health-timeout -d 'How long a probe may take; a bare number is milliseconds [default: 1s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l health-fail -d 'Consecutive failures to leave rotation [default: 3]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l health-pass -d 'Consecutive good probes to return [default: 2]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l tls-cert -d 'Certificate chain shown to clients; needs --tls-key' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l tls-key -d 'Its private key, readable by its owner only' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l upstream-ca -d 'TLS to the nodes, trusting only this file; the name checked is the node\'s name' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l read-timeout -d 'The whole request head, and each silence inside a body [default: 30s]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l workers -d 'Worker threads [default: available cores]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l access-log -d 'One line per request: off, stdout, or the file it is appended to, as a path with a / in it [default: stdout]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l discover -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l discover-credentials -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l admin-addr -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l cluster-id -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l state-dir -d 'Where snapshots, drains and the worker count outlive the process' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l control -d 'Where it can be told things; tcp needs the three files below [default: unix:control.sock in the state directory]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l control-group -d 'A group that may use the Unix socket, besides this user and root' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l control-cert -d 'Certificate chain shown over tcp' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l control-key -d 'Its private key' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l control-ca -d 'Whose certificates are accepted from peers over tcp' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l control-admit -d 'A DNS name or URI in the certificate of a peer that is admitted over tcp' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l no-ddl -d 'Carry the data routes only'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l allow-ops -d 'Carry the operator\'s routes too'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l insecure-skip-verify -d 'TLS to the nodes without checking their certificates'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l insecure-no-tls -d 'Allow clear text with clients and nodes on other machines'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l trust-forwarded-for -d 'Append to a client\'s X-Forwarded-For instead of replacing it'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l print-config -d 'Print the gateway.toml that asks for the same, and end'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -l last-good -d 'When this configuration cannot be served, serve the last one that could'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand front-door" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand manual" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand manual" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand reload" -l control -d 'The socket of the running process' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand reload" -l state-dir -d 'The state directory of the running process, where its socket is' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand reload" -l format -d 'For people, or for programs' -r -f -a "json\t'One JSON document'
text\t'With the lines they are about'"
complete -c gatewayd -n "__fish_gatewayd_using_subcommand reload" -l new-generation -d 'Start another generation even where nothing asks for one'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand reload" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand reload" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand rollback" -l control -d 'The socket of the running process' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand rollback" -l state-dir -d 'The state directory of the running process, where its socket is' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand rollback" -l format -d 'For people, or for programs' -r -f -a "json\t'One JSON document'
text\t'With the lines they are about'"
complete -c gatewayd -n "__fish_gatewayd_using_subcommand rollback" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand rollback" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand run" -l config -d 'The configuration: files, and folders whose *.toml are read in the order of their names; `api`: what was applied to the running process last' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand run" -l state-dir -d 'Where snapshots, drains and the worker count outlive the process' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand run" -l control -d 'Where it can be told things; tcp needs the three files below [default: unix:control.sock in the state directory]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand run" -l control-group -d 'A group that may use the Unix socket, besides this user and root' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand run" -l control-cert -d 'Certificate chain shown over tcp' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand run" -l control-key -d 'Its private key' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand run" -l control-ca -d 'Whose certificates are accepted from peers over tcp' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand run" -l control-admit -d 'A DNS name or URI in the certificate of a peer that is admitted over tcp' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand run" -l last-good -d 'When this configuration cannot be served, serve the last one that could'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand run" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand run" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand schema" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand schema" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand snapshots" -l control -d 'The socket of the running process' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand snapshots" -l state-dir -d 'The state directory of the running process, where its socket is' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand snapshots" -l format -d 'For people, or for programs' -r -f -a "json\t'One JSON document'
text\t'With the lines they are about'"
complete -c gatewayd -n "__fish_gatewayd_using_subcommand snapshots" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand snapshots" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand status" -l control -d 'The socket of the running process' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand status" -l state-dir -d 'The state directory of the running process, where its socket is' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand status" -l format -d 'For people, or for programs' -r -f -a "json\t'One JSON document'
text\t'With the lines they are about'"
complete -c gatewayd -n "__fish_gatewayd_using_subcommand status" -l watch -d 'Go on and print what changes, a line each'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand status" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand stop" -l control -d 'The socket of the running process' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand stop" -l state-dir -d 'The state directory of the running process, where its socket is' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand stop" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand stop" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand trace" -s H -l header -d 'A header field of the request; its value is compared and never printed' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand trace" -l from -d 'Where the client is' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand trace" -l listener -d 'The listener it comes in on [default: the first one that fits the URL]' -r
complete -c gatewayd -n "__fish_gatewayd_using_subcommand trace" -l config -d 'The configuration to look at: files, and folders of them' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand trace" -l control -d 'The socket of the running process' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand trace" -l state-dir -d 'The state directory of the running process, where its socket is' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand trace" -l format -d 'For people, or for programs' -r -f -a "json\t'One JSON document'
text\t'With the lines they are about'"
complete -c gatewayd -n "__fish_gatewayd_using_subcommand trace" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand trace" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand undrain" -l control -d 'The socket of the running process' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand undrain" -l state-dir -d 'The state directory of the running process, where its socket is' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand undrain" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand undrain" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand workers" -l control -d 'The socket of the running process' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand workers" -l state-dir -d 'The state directory of the running process, where its socket is' -r -F
complete -c gatewayd -n "__fish_gatewayd_using_subcommand workers" -s h -l help -d 'Print help'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand workers" -s V -l version -d 'Print version'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "check" -d 'Check a configuration without starting anything'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "completions" -d 'Print the script with which a shell completes the command line'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "diff" -d 'Print what differs between two configurations, by what the change costs'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "document" -d 'Print the page about the settings'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "drain" -d 'Take a node of a running process out of rotation'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "effective" -d 'Print a configuration with everything spelled out'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "explain" -d 'Explain the code of a diagnostic'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "front-door" -d 'Put one address before a cluster'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "manual" -d 'Write the pages of the manual into a directory'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "reload" -d 'Let a running process read its configuration again, as SIGHUP does'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "rollback" -d 'Let a running process serve a snapshot that it kept'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "run" -d 'Serve a configuration'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "schema" -d 'Print what a configuration may say, as JSON Schema for editors'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "snapshots" -d 'Print the snapshots that a running process kept'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "status" -d 'Print what a running process serves, and how its nodes are'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "stop" -d 'Let a running process end: requests in flight end first'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "trace" -d 'Print the way a request would go, and why; nothing is sent'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "undrain" -d 'Let a node of a running process into rotation again'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "workers" -d 'Set the number of workers of a running process'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and not __fish_seen_subcommand_from check completions diff document drain effective explain front-door manual reload rollback run schema snapshots status stop trace undrain workers help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and __fish_seen_subcommand_from check" -f -a "front-door" -d 'The configuration of a front door, by its flags'
complete -c gatewayd -n "__fish_gatewayd_using_subcommand help; and __fish_seen_subcommand_from effective" -f -a "front-door" -d 'The configuration of a front door, by its flags'
