//! Changes one user in a text that a person wrote, and leaves everything else as it is.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::config::places_of_users;

/// The web configuration with a user's hash set, or without the user.
pub(super) fn user(text: &str, name: &str, hash: Option<&str>) -> Result<String> {
    let places = places_of_users(text).map_err(anyhow::Error::msg)?;
    let entry = hash.map(|hash| format!("{}: {hash}", yaml_key(name)));
    let changed = match (places.users.get(name), &entry, places.header) {
        (Some((start, end)), Some(entry), _) => replace(text, *start, *end, entry),
        (Some((start, end)), None, _) => without_lines(text, *start, *end),
        (None, None, _) => text.to_owned(),
        (None, Some(entry), None) => format!("{}basic_auth_users:\n  {entry}\n", with_end_of_line(text)),
        (None, Some(entry), Some(header)) => {
            let first = places.users.values().min().map(|(start, _)| *start);
            let last = places.users.values().map(|(_, end)| *end).max();
            let indent = first.map_or("  ", |start| indent_of(text, start));
            insert_after_line(text, last.unwrap_or(header), &format!("{indent}{entry}\n"))
        }
    };
    let others = |text: &str| -> Option<BTreeMap<String, String>> {
        let users = places_of_users(text).ok()?.users;
        let kept = users.into_iter().filter(|(user, _)| user != name);
        Some(kept.map(|(user, (start, end))| (user, text[start..end].to_owned())).collect())
    };
    let is_there = places_of_users(&changed).is_ok_and(|places| places.users.contains_key(name));
    if others(&changed).is_none() || others(&changed) != others(text) || is_there != hash.is_some() {
        bail!(
            "basic_auth_users is written in a way that this command cannot change: write each user on a line of its own below it"
        );
    }
    Ok(changed)
}

/// The web configuration with a section `tls_server_config` that names a certificate and its key.
pub(super) fn tls(text: &str, cert: &str, key: &str) -> String {
    let quoted = |path: &str| format!("'{}'", path.replace('\'', "''"));
    format!(
        "{}tls_server_config:\n  cert_file: {}\n  key_file: {}\n",
        with_end_of_line(text),
        quoted(cert),
        quoted(key)
    )
}

/// A configuration with a user's role in its table `[server.roles]`, or without it.
pub(super) fn role(text: &str, name: &str, role: Option<&str>) -> String {
    let entry = role.map(|role| format!("{} = \"{role}\"", toml_key(name)));
    let lines: Vec<&str> = text.lines().collect();
    let Some(header) = lines.iter().position(|line| is_header(line, "[server.roles]")) else {
        return match entry {
            Some(entry) => format!("{}[server.roles]\n{entry}\n", with_end_of_line(text)),
            None => text.to_owned(),
        };
    };
    let end = lines[header + 1..].iter().position(|line| line.trim_start().starts_with('['));
    let end = end.map_or(lines.len(), |end| header + 1 + end);
    let present = lines[header + 1..end].iter().position(|line| key_of(line).as_deref() == Some(name));
    let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
    match (present.map(|at| header + 1 + at), entry) {
        (Some(at), Some(entry)) => lines[at] = entry,
        (Some(at), None) => drop(lines.remove(at)),
        (None, Some(entry)) => lines.insert(header + 1, entry),
        (None, None) => {}
    }
    lines.join("\n") + "\n"
}

fn is_header(line: &str, header: &str) -> bool {
    line.split('#').next().unwrap_or_default().split_whitespace().collect::<String>() == header
}

/// The key of a line `key = value`.
fn key_of(line: &str) -> Option<String> {
    let line = line.trim_start();
    match line.chars().next()? {
        '#' => None,
        quote @ ('"' | '\'') => line[1..].split(quote).next().map(str::to_owned),
        _ => line.split_once('=').map(|(key, _)| key.trim().to_owned()),
    }
}

pub(super) fn toml_key(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(plain) { name.to_owned() } else { format!("{name:?}") }
}

fn yaml_key(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_word = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"]
        .contains(&name.to_ascii_lowercase().as_str());
    if begins && !is_word && name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', "''"))
    }
}

fn replace(text: &str, start: usize, end: usize, by: &str) -> String {
    format!("{}{by}{}", &text[..start], &text[end..])
}

/// The text without the lines that a stretch of it stands on.
fn without_lines(text: &str, start: usize, end: usize) -> String {
    let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
    format!("{}{}", &text[..begin], &text[end_of_line(text, end)..])
}

fn insert_after_line(text: &str, at: usize, line: &str) -> String {
    let end = end_of_line(text, at);
    format!("{}{line}{}", with_end_of_line(&text[..end]), &text[end..])
}

/// The byte after the line of a byte.
fn end_of_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |found| at + found + 1)
}

/// What stands before a byte on its line.
fn indent_of(text: &str, at: usize) -> &str {
    &text[text[..at].rfind('\n').map_or(0, |found| found + 1)..at]
}

fn with_end_of_line(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG";

    fn added(text: &str, name: &str) -> String {
        user(text, name, Some(HASH)).unwrap()
    }

    #[test]
    fn a_user_is_added_changed_and_removed_and_the_rest_stays() {
        assert_eq!(added("", "prom"), format!("basic_auth_users:\n  prom: {HASH}\n"));
        let text = "# mine\nbasic_auth_users: # who\n    # the scraper\n    prom: old # keep\n    zoe: z\nrate_limit:\n  burst: 1";
        let changed = added(text, "prom");
        assert_eq!(changed, text.replace("old", HASH));
        let more = added(text, "deploy");
        assert_eq!(more, text.replace("zoe: z\n", &format!("zoe: z\n    deploy: {HASH}\n")));
        assert_eq!(user(&more, "deploy", None).unwrap(), text);
        assert_eq!(user(text, "zoe", None).unwrap(), text.replace("    zoe: z\n", ""));
        assert_eq!(user(text, "nobody", None).unwrap(), text);
        let empty = "basic_auth_users:\nrate_limit:\n";
        assert_eq!(added(empty, "a"), format!("basic_auth_users:\n  a: {HASH}\nrate_limit:\n"));
        assert_eq!(added("x:", "a"), format!("x:\nbasic_auth_users:\n  a: {HASH}\n"));
    }

    #[test]
    fn what_is_written_otherwise_is_left_to_a_person() {
        for text in ["basic_auth_users: {a: b, c: d}\n", "basic_auth_users: {}\n", "basic_auth_users: [\n"] {
            assert!(user(text, "prom", Some(HASH)).is_err(), "{text}");
        }
        assert!(user("basic_auth_users: {a: b, c: d}\n", "a", None).is_err());
    }

    #[test]
    fn names_of_every_kind_are_written_so_that_they_are_read() {
        for name in ["true", "it's me", "0", "ä", "a b", "#x", "-", "*x", "a.b@c"] {
            let text = added("basic_auth_users:\n  first: x\n", name);
            let users = places_of_users(&text).unwrap().users;
            assert!(users.contains_key(name), "{text}");
            assert_eq!(key_of(role("", name, Some("read")).lines().nth(1).unwrap()).unwrap(), name);
        }
    }

    #[test]
    fn a_role_is_set_in_its_table() {
        assert_eq!(role("", "a", Some("read")), "[server.roles]\na = \"read\"\n");
        let text = "[server]\nlisten = \":1\"\n\n[ server.roles ] # who\n\"a\" = \"read\"\nb = \"admin\"\n[store]\na = 1\n";
        assert_eq!(role(text, "a", Some("admin")), text.replace("\"a\" = \"read\"", "a = \"admin\""));
        assert_eq!(role(text, "b", None), text.replace("b = \"admin\"\n", ""));
        assert_eq!(role(text, "c", Some("scrape")), text.replace("# who\n", "# who\nc = \"scrape\"\n"));
        assert_eq!(role(text, "c", None), text);
        assert_eq!(role("a = 1", "san:x.y", Some("read")), "a = 1\n[server.roles]\n\"san:x.y\" = \"read\"\n");
    }

    #[test]
    fn the_section_of_tls_is_read_back() {
        let text = tls("basic_auth_users:\n  a: b", "it's.crt", "k.key");
        assert!(
            text.ends_with("tls_server_config:\n  cert_file: 'it''s.crt'\n  key_file: 'k.key'\n"),
            "{text}"
        );
    }
}
