//! What a server's own error log says about its end, short enough for one sentence.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// How much of a log's end is looked at, in bytes.
const TAIL: u64 = 64 << 10;
/// How many lines are quoted.
const QUOTED: usize = 3;

/// The end of a log; empty when it cannot be read.
pub(crate) fn tail(path: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(path) {
        let length = file.metadata().map_or(0, |facts| facts.len());
        let sought = file.seek(SeekFrom::Start(length.saturating_sub(TAIL)));
        let _ = sought.and_then(|_| file.read_to_end(&mut bytes));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last errors of a log, oldest first; where it has none marked, its last lines.
pub(crate) fn last_errors(log: &str) -> Vec<String> {
    let lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let errors: Vec<&str> = lines.clone().filter_map(error_text).filter(|text| *text != "Aborting").collect();
    let chosen = if errors.is_empty() { lines.collect() } else { errors };
    let from = chosen.len().saturating_sub(QUOTED);
    chosen[from..].iter().map(|line| (*line).to_owned()).collect()
}

/// The text of a line marked as error, without time, number and origin.
fn error_text(line: &str) -> Option<&str> {
    let (_, mut rest) = line.split_once("[ERROR]").or_else(|| line.split_once("ERROR: "))?;
    rest = rest.trim_start();
    // MySQL adds the message's number and its subsystem in brackets.
    while let Some((_, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        rest = after.trim_start();
    }
    Some(rest)
}

/// What to do about the errors of a log; empty when nothing is known.
pub(crate) fn advice(errors: &str, apparmor_confines_mysqld: bool) -> &'static str {
    let has = |texts: &[&str]| texts.iter().any(|text| errors.contains(text));
    if has(&["unknown variable", "unknown option"]) {
        "Write loose_ before options that not every server knows"
    } else if has(&["No space left", "disk is full", "Disk is full", "Error number 28"]) {
        "Free space on the disk of the target's directory"
    } else if has(&["Cannot allocate", "annot allocate memory", "ENOMEM"]) {
        "Lower innodb_buffer_pool_size, or free memory"
    } else if has(&["Unable to lock", "Could not get an exclusive lock", "unable to lock"]) {
        "Another server uses the data directory: end it"
    } else if has(&["Could not find"]) && has(&["my_print_defaults"]) {
        "Install what belongs to the server: on Debian and Ubuntu my_print_defaults is in the package mariadb-client-core"
    } else if apparmor_confines_mysqld && has(&["Permission denied", "errno: 13", "OS errno 13"]) {
        "AppArmor keeps mysqld out of other directories: add the line `DIRECTORY/** rwk,` with the target's \
         directory to /etc/apparmor.d/local/usr.sbin.mysqld, then apparmor_parser -r /etc/apparmor.d/usr.sbin.mysqld"
    } else {
        ""
    }
}

/// The line by which a server says that it has cut its table cache or connections to fit its limit of open files.
pub(crate) fn cut_limits(log: &str) -> Option<&str> {
    let line = log.lines().rev().find(|line| line.contains("Changed limits:"))?;
    line.find("Changed limits:").map(|at| line[at..].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARIADB: &str = "\
2026-11-30 16:40:00 0 [Note] Starting MariaDB 10.11.19-MariaDB-0+deb12u1 as process 77
2026-11-30 16:40:00 0 [Warning] Could not increase number of max_open_files to more than 512 (request: 32190)
2026-11-30 16:40:00 0 [Warning] Changed limits: max_open_files: 512  max_connections: 151 (was 151)  table_cache: 165 (was 2000)
2026-11-30 16:40:01 0 [ERROR] /usr/sbin/mariadbd: unknown variable 'innodb_log_files=3'
2026-11-30 16:40:01 0 [ERROR] Aborting
";
    const MYSQL: &str = "\
2026-11-30T16:43:56.823003Z 0 [ERROR] [MY-000067] [Server] unknown variable 'bogus=1'.
2026-11-30T16:43:56.823003Z 0 [ERROR] [MY-010119] [Server] Aborting
2026-11-30T16:43:58.284517Z 0 [System] [MY-015016] [Server] MySQL Server - end.
";

    #[test]
    fn errors_are_found_in_the_logs_of_both_flavours() {
        assert_eq!(last_errors(MARIADB), ["/usr/sbin/mariadbd: unknown variable 'innodb_log_files=3'"]);
        assert_eq!(last_errors(MYSQL), ["unknown variable 'bogus=1'."]);
    }

    #[test]
    fn a_log_without_marked_errors_gives_its_last_lines() {
        assert_eq!(last_errors("a\nb\n\nc\nd\n"), ["b", "c", "d"]);
        assert!(last_errors("").is_empty());
    }

    #[test]
    fn known_errors_have_advice() {
        assert!(advice("unknown variable 'bogus=1'.", false).starts_with("Write loose_"));
        assert_eq!(advice("something else", true), "");
        let denied = "mysqld: Can't create file '/x/y' (errno: 13 - Permission denied)";
        assert!(advice(denied, true).starts_with("AppArmor"));
        assert_eq!(advice(denied, false), "");
    }

    #[test]
    fn a_server_without_what_makes_its_data_names_the_package() {
        let installer = "\nFATAL ERROR: Could not find /usr/bin/my_print_defaults\n\nIf you compiled from source, you need\n";
        let errors = last_errors(installer);
        assert_eq!(errors, ["Could not find /usr/bin/my_print_defaults"]);
        assert!(advice(&errors[0], false).ends_with("is in the package mariadb-client-core"));
    }

    #[test]
    fn a_cut_table_cache_is_seen() {
        let cut = cut_limits(MARIADB).unwrap();
        assert!(cut.ends_with("table_cache: 165 (was 2000)"), "{cut}");
        assert_eq!(cut_limits(MYSQL), None);
    }
}
