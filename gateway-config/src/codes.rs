//! The table of diagnostic codes: what each one stands for.
//!
//! A code is never reused. `gatewayd explain CODE` prints the explanation written here.

use std::fmt;

/// The stable name of one kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(u16);

/// A code with its title and explanation.
#[derive(Clone, Copy, Debug)]
pub struct CodeEntry {
    /// The code.
    pub code: Code,
    /// What it stands for, in one line.
    pub title: &'static str,
    /// Why it is refused or worth a warning, and what to do; one paragraph.
    pub explanation: &'static str,
}

impl Code {
    /// The entry of a code as an operator writes it: `G0302`, in any case, or as a finding has it,
    /// `error[G0302]`, with or without what stands around.
    #[must_use]
    pub fn find(text: &str) -> Option<&'static CodeEntry> {
        let inside = ["error[", "warning["].iter().find_map(|begin| {
            let (_, rest) = text.split_once(begin)?;
            Some(rest.split_once(']')?.0)
        });
        let text = inside.unwrap_or(text).trim();
        CODES
            .iter()
            .find(|entry| entry.code.to_string().eq_ignore_ascii_case(text))
    }
}

/// `G` and four digits.
impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "G{:04}", self.0)
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $title:literal, $explanation:literal;)*) => {
        $($(#[$doc])* #[doc = $title] pub const $name: Code = Code($number);)*

        /// Every code there is, by number.
        pub static CODES: &[CodeEntry] = &[
            $(CodeEntry { code: $name, title: $title, explanation: $explanation },)*
        ];
    };
}

codes! {
    SYNTAX = 1, "the file is not TOML",
        "The text could not be read as TOML 1.0, so nothing else in it was looked at. The caret stands where reading stopped; the mistake is there or just before: a missing quote, bracket or `=`. Of each line only the first finding is told, and of a bracket or brace that is never closed only where it begins, since all that follows is taken for its inside.";
    UNKNOWN_SETTING = 2, "a setting that does not exist",
        "A name was written where no setting of that name exists. It is refused rather than ignored, because a misspelled limit that is silently absent is found on the day it was needed. The help names the closest setting that is legal in that place, or lists those there are.";
    WRONG_TYPE = 3, "a value of the wrong kind",
        "The setting exists and its value is of another kind than it takes: a number where a text belongs, a text where a list belongs. The help shows a value of the right kind.";
    MISSING_SETTING = 4, "a setting that must be there is not",
        "This table cannot work without the setting named, and no default would be right for everybody.";
    UNREADABLE_SOURCE = 5, "a configuration file that cannot be read",
        "A file that the configuration consists of, or that it names as a part of itself, could not be read: it is not there, not open to this user, not UTF-8, or larger than 16 MiB.";
    RENAMED = 6, "a setting under a former name",
        "The setting has another name. For one release the former name works and this is a warning, for the next it is refused, and after that it is unknown. The help holds the name to write.";
    NEWER_TOML = 7, "a construct that TOML 1.0 does not have",
        "The file can be read here and not by every tool: a table in braces that runs over several lines or ends in a comma, or an escape `\\e` or `\\x`, came with TOML 1.1. Write the table under a header of its own, `[pools.shop.probe]`, or on one line.";
    SECRET_IN_FILE = 8, "a secret written into the configuration",
        "Where a certificate or key is meant, the setting takes the path of a file. What was written here looks like the content of that file. Configurations are copied, printed and sent around; keep the secret in a file that only its owner may read. Its text is masked in every diagnostic.";
    TOO_MANY_PIECES = 9, "a configuration of too many pieces",
        "Names, values, signs, comments and the gaps between them are pieces. All files of a configuration together have at most 3 000 000 of them, because each takes many times its length in memory while it is read; what may open a table, `[`, `{` or the dot of a key, counts for eight. Ten thousand routes that say much have less than half of that. A file with more was usually made by a program that did not stop.";
    BAD_NAME = 101, "a name with characters that names do not have",
        "Names stand in metric labels, log fields and TLS server names, so they are 1 to 63 characters out of letters, digits, `-`, `_` and `.`.";
    DEFINED_TWICE = 102, "two things with one name",
        "A table or a setting was written twice: keep one of them. Or a list names the same thing twice, be it in another case. Or a name was given to two things of the same kind, so a reference to it would mean either. Rename one of them. A front door makes a listener, a site, a pool and, with TLS, a profile of its own name.";
    UNDEFINED = 104, "a reference to something that is not defined",
        "A setting names a listener, pool, TLS profile or address set that no table defines. The help offers the closest name, or lists the ones there are.";
    UNUSED = 105, "something defined that nothing uses",
        "The table is correct, and nothing refers to it, so it has no effect on any request.";
    BAD_NETWORK = 201, "a text that is not an address range",
        "A network is written `ADDRESS/PREFIX`, with no bits behind the prefix, so that it cannot mean either of two things; an address alone stands for itself. A network of IPv4 is written as IPv4, `10.0.0.0/8` and not `::ffff:10.0.0.0/104`. Last, `@NAME` stands for the networks of `[address_sets.NAME]`. An IPv4 prefix goes up to 32, an IPv6 prefix up to 128.";
    BAD_ADDRESS = 202, "a text that is not an address",
        "An address is `HOST:PORT`. A listener's host is an IP address; a node's host is an IP address or a host name. IPv6 addresses stand in brackets: `[::1]:7650`. Ports go from 1 to 65535, in digits without a zero before them. An IPv4 address is written as IPv4, unless the listener has `v6only = false`.";
    BAD_QUANTITY = 203, "a duration or size that cannot be read",
        "Durations are one whole number and one unit out of `ms`, `s`, `m`, `h`, `d`; sizes are a whole number and a unit out of `B`, `KiB`, `MiB`, `GiB`; shares are a whole number and `%`. A number without a unit is refused, because half of its readers would take it for something else.";
    OUT_OF_RANGE = 204, "a value outside its bounds",
        "The value can be read and lies outside what the setting takes. A time limit of zero would fail every request, so it is refused too.";
    UNKNOWN_WORD = 205, "a word that this setting does not take",
        "The setting takes one word out of a short list, and this is none of them.";
    BAD_PATTERN = 207, "a path pattern that cannot match",
        "A template is literal segments and captured names, `/table/{t}/records`, written decoded. A path is written as requests are compared with it: normalised, without dot segments or needless escapes. So it begins with `/` and has neither query nor fragment. A glob and a regular expression have to match the whole of such a path. Where a redirect leads, or what a path becomes, is an address with captured names in braces.";
    BAD_TOKEN = 208, "a host, method, field or query key with illegal characters",
        "These texts are compared with what a client sends, or sent to a node. With an illegal character they would never match, or break the message.";
    UNKNOWN_CAPTURE = 209, "a captured name that nothing captures",
        "A name in braces stands for what the route's pattern captured under it: a `{name}` of its template, or a group `(?<name>…)` of its regular expression. This one would always stand for nothing.";
    BAD_PATH = 210, "a text that is not the path of a file",
        "A file or directory is named by its path, which is neither empty nor more than one line. For the access log there are two words besides, `off` and `stdout`, so there a path has a `/` in it: `./access.log` for a file beside the configuration. Without that rule a word misspelt would be a file of that name.";
    NO_NODE = 301, "no node to send requests to",
        "A pool, or a front door, without a single node could only ever answer 503. Name at least one node: by `--upstream NAME=ADDR`, in the cluster file, or in the pool's `nodes`.";
    PROBE_OUTLIVES_INTERVAL = 302, "a probe that may take longer than its interval",
        "At most one probe of a node is under way, so a probe that may outlive the interval would silently stretch it, and an outage would be noticed later than the settings promise. Make `timeout` at most as long as `every`, or say `may_outlive = true` when a slow answer is worth the delay. A front door says so by itself.";
    SAME_ADDRESS = 303, "two listeners on one address",
        "The system gives an address and port to one listener only, however it is spelt: `[::ffff:10.0.0.1]:80` is `10.0.0.1:80`. `0.0.0.0` is every IPv4 address and `[::]` every IPv6 one, and with `v6only = false` every IPv4 one too. Beside such a listener one on a single address of the same port is possible when both say `reuse_port = true`; the single address then has its connections.";
    SAME_HOST = 304, "two sites for one host on one listener",
        "A request for that host could be meant for either site. A site without `hosts` takes every host that no other site of its listener names, so there is at most one of those per listener.";
    ONE_PATTERN = 305, "a route with no pattern, or with several",
        "A route has exactly one pattern: `exact`, `template`, `glob`, `regex` or `path`. Two patterns are two routes.";
    SHADOWED_ROUTE = 306, "a route that an earlier one always takes",
        "Both routes take exactly the same method and paths, so the second one is never reached.";
    HTTP2_WITHOUT_TLS = 307, "protocols offered on a listener without TLS",
        "Protocols are offered during the TLS handshake; a clear listener has none. There HTTP/1.1 is always spoken, and HTTP/2 with clients that begin with it when `h2c = true`.";
    NO_ACTION = 308, "a site that does nothing",
        "A site without `pool` and without routes would answer every request with 404.";
    BODY_TWICE = 309, "a body that is both buffered and streamed",
        "A request body is either read whole before a node is chosen (`buffer`) or passed on as it comes (`stream`). Keep one of the two.";
    EMPTY_LIST = 310, "a list that may not be empty",
        "Absent and empty are two things: leave the setting out to have it not apply. An empty list here would match nothing, which nobody means.";
    NOTHING_SERVED = 311, "a configuration that listens nowhere",
        "Neither a listener nor a front door is defined, so nothing would be served. An empty file is more often a mistake, a wrong path or a failed copy, than a wish.";
    NO_EFFECT = 312, "a setting that has no effect where it stands",
        "The setting exists and another one beside it, or the lack of one, makes it mean nothing. It is refused rather than ignored, because whoever wrote it counts on it. Remove it, or what it contradicts.";
    ONE_ACTION = 313, "a route with several actions",
        "A route does one thing with a request: it sends it to a `pool`, or elsewhere with `redirect`, or it is answered here with `answer` or `files`. Two actions are two routes.";
    NO_HTTPS = 314, "a redirect to HTTPS where there is none",
        "The site sends every request in clear text on to HTTPS, and none of its listeners has TLS, so the redirect would lead to a closed door. Or a listener does, and no site has a listener with TLS.";
    NO_PRIMARY = 315, "aliases without a name to lead to",
        "Requests for an alias are redirected to the first of the site's `hosts`. There is none, or it is a wildcard, which is no name to send anybody to.";
    NO_VERSION = 316, "a TLS profile that speaks no version",
        "The oldest version allowed is newer than the newest one, or every suite listed is of a version that is not allowed, so every handshake would fail. Or, with `--files`, a key is of a kind that no suite listed takes: those of TLS 1.2 say in their names whether they are for RSA or for ECDSA, which Ed25519 counts as; those of TLS 1.3 take every key.";
    NOT_SERVED = 317, "a setting that this data plane does not execute",
        "The setting is understood and checked, and the data plane of this build cannot do what it asks. It is refused rather than left out, because a rule that is half applied is worse than none. The help says what to write to do without it. `effective` and `diff` show such a configuration all the same.";
    LITERAL = 318, "a text that is taken as it stands",
        "Only a `glob` has a `*`, only a `template` and the groups of a `regex` capture, and what was captured stands in braces: `{name}`. Elsewhere `*`, `:name` and `$1` are characters like others, so a path with them takes only requests that have them too. In a field that is set there are no variables: `$scheme` reaches the node as these seven characters. Methods are compared as they are written (RFC 9110 section 9.1): `get` is not `GET`. It is a warning, since the text may be meant.";
    HALF_TLS = 401, "a certificate without its key, or a key without its certificate",
        "A TLS listener needs both files. With one of them the listener would have to be clear, which nobody who names a certificate wants.";
    CLEAR_LISTENER = 402, "a clear listener that other machines can reach",
        "Credentials and data would cross the network readable. Give the listener a certificate and key, listen on a loopback address, or say `--insecure-no-tls` (`insecure_no_tls = true`) when something else encrypts that network.";
    CLEAR_NODE = 403, "clear traffic to a node on another machine",
        "Credentials would cross the network readable. Say which CA signs the nodes' certificates with `--upstream-ca` (`upstream_ca`), or `--insecure-no-tls` (`insecure_no_tls = true`) when something else encrypts that network. A node is on this machine when its address is a loopback address or `localhost`; names are not looked up to find out.";
    TIERS_CONTRADICT = 404, "two tiers asked for at once",
        "`--no-ddl` leaves only the data routes, `--allow-ops` adds the operator's routes to all others. Both together would mean neither.";
    TRUST_CONTRADICTS = 405, "a CA to trust and no verification",
        "A CA file says that nodes are verified, and skipping verification says that they are not. Remove one of the two.";
    UNVERIFIED_NODES = 406, "nodes whose certificates nobody checks",
        "Traffic to the nodes is encrypted and could be read by whoever stands in between, because any certificate is accepted. It is meant for a first try; use `--upstream-ca` afterwards.";
    TRUSTED_FORWARDED = 407, "a client's `X-Forwarded-For` is passed on",
        "The door appends the peer's address to what the client sent, so the first entries are whatever the client wrote. That is right behind a load balancer that clients cannot go round, and wrong everywhere else.";
    NO_UPSTREAM_PARTS = 408, "an upstream that is not NAME=ADDR",
        "The part before the first `=` is the node's name, which is also the TLS server name; the part behind it is its address. Neither may be empty.";
    SHARD_GAP = 501, "shards that no node starts with",
        "The cluster's nodes would refuse this file, because the shards named have no primary. The door needs names and addresses only, so it goes on.";
    SHARD_OVERLAP = 502, "shards that two nodes start with",
        "The cluster's nodes would refuse this file, because two nodes claim the shards named. The door needs names and addresses only, so it goes on.";
    SHARDS_OR_REPLICA = 503, "a node with both or neither of shards and replica",
        "A node of a cluster either starts with a range of shards or is a copy of another node. The door needs names and addresses only, so it goes on.";
    FEW_FOR_REPLICA = 504, "a replica in a cluster of fewer than three nodes",
        "Failing over needs a majority, and a majority of two is both of them, so the copy could never be used.";
    BAD_REPLICA = 505, "a replica of a node that is itself a replica, or that is not there",
        "A copy is always made of a node that has shards of its own in this file, or of another node of the same pool.";
    SCHEMA_LEADER = 506, "no schema leader, or one that is no node",
        "The cluster's file names one node that decides about the schema. The door needs names and addresses only, so it goes on.";
    SHARED_ADDRESS = 507, "two nodes with one address",
        "Both names lead to the same process, so it gets twice its share of requests and its limit of requests in flight counts double.";
    BAD_SHARDS = 508, "shards that cannot be read",
        "Shards are written as a range without its end, `\"0..64\"`, and open for the last one, `\"64..\"`.";
    KEY_TOO_OPEN = 601, "a private key that others may read",
        "Whoever reads the key can pretend to be this listener. `chmod 600` the file; when it must be shared, share it through its owner.";
    UNREADABLE_FILE = 602, "a file that cannot be read",
        "A file or directory named in the configuration is not there, is something else than it should be, or is not open to this user; or it is a page for failures of more than 1 MiB. A log may be made where it is not there; its directory is not made.";
    NOTHING_IN_FILE = 603, "a file without what it should hold",
        "The file was read and holds no PEM block of the kind that belongs there: `CERTIFICATE` for a chain or CA file, a `PRIVATE KEY` without a passphrase for a key. A page that is empty is a warning: clients would get nothing.";
    KEY_MISFIT = 604, "a private key that does not fit its certificate",
        "A handshake shows the first certificate of the chain and proves that it owns its key. This key belongs to another certificate, so every handshake would fail. Often the files of two names were swapped, a certificate was renewed without its key, or the chain begins with the authority's certificate instead of the server's own.";
    UNUSABLE_PEM = 605, "a certificate or key that cannot be used",
        "The PEM block is there, and what is in it is no certificate or key, or one of a kind that is not spoken here. Keys are RSA of 2048 to 4096 bits, ECDSA over P-256 or P-384, or Ed25519.";
    OUT_OF_TIME = 606, "a certificate that is not valid now",
        "Clients refuse a certificate before its first and after its last day, so handshakes fail. It is a warning, because the same file is right on another day and everything else is served. The clock of this machine was asked.";
    AUTHORITY_SHOWN = 607, "an authority's certificate shown as a server's own",
        "The first certificate of the chain may sign others. Many clients refuse such a certificate when a server shows it as its own. Let it sign one for the server's names, and put that one first.";
    NAMES_UNCOVERED = 608, "a certificate without all of a site's names",
        "The site is served under this certificate, and not all of its `hosts` are among the names in it, so every client that asks for one of the others would refuse the handshake. Often the wrong profile was named, the file is another site's, or a host came to the site after the certificate was made. Only the names of subject alternative names count (RFC 6125 section 6.4.4); `*.shop.example` stands for one label. It is a warning, because a certificate may be on its way.";
    NOT_BOUND = 701, "an address that cannot be listened on",
        "The system does not give this address to the process: another process has it, or the same address is asked for twice, or it is no address of this machine, or a port below 1024 needs a right that this user does not have. `ss -ltnp` shows who has it.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_rise_and_are_found() {
        assert!(CODES.windows(2).all(|pair| pair[0].code < pair[1].code));
        assert_eq!(Code::find("g0302").unwrap().code, PROBE_OUTLIVES_INTERVAL);
        for pasted in [
            "error[G0302]",
            "warning[g0302]: a title [x]",
            " G0302 ",
            "gateway.toml:1:2: error[G0302]: …",
        ] {
            assert_eq!(Code::find(pasted).unwrap().code, PROBE_OUTLIVES_INTERVAL);
        }
        for none in ["G9999", "error[]", "error[G0302", "xG0302", ""] {
            assert!(Code::find(none).is_none(), "{none}");
        }
    }
}
