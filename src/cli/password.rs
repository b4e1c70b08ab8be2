//! Where a password comes from: a file, netrc, or the terminal. Never the command line.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

use crate::exit::{Ended, Exit};

/// Names the file that holds a password.
const VARIABLE: &str = "BENCHD_PASSWORD_FILE";
/// bcrypt looks at no more of a password.
const LONGEST: usize = 72;

/// User and password for a daemon on a host; `None` when nobody is named.
pub(super) fn login(user: Option<&str>, host: &str) -> Result<Option<(String, String)>> {
    let from_netrc = netrc(host, user)?;
    let Some(user) = user.map(str::to_owned).or_else(|| from_netrc.as_ref().map(|(user, _)| user.clone()))
    else {
        return Ok(None);
    };
    let password = match (from_file()?, from_netrc) {
        (Some(password), _) => password,
        (None, Some((_, password))) => password,
        (None, None) => ask(&format!("password of {user} on {host}: "))?,
    };
    Ok(Some((user, password)))
}

/// A password for a new user, typed twice when it is typed.
pub(super) fn new_password() -> Result<String> {
    let password = match from_file()? {
        Some(password) => password,
        None => {
            let password = ask("password: ")?;
            ensure!(ask("again: ")? == password, "nothing was changed: the two passwords differ");
            password
        }
    };
    let wrong = |what: &str| Ended::because(Exit::Wrong, format!("nothing was changed: {what}"));
    if password.is_empty() {
        return Err(wrong("an empty password is none"));
    }
    if password.len() > LONGEST {
        return Err(wrong("of a password only the first 72 bytes count, and this one is longer"));
    }
    Ok(password)
}

/// The first line of the file that the environment names.
fn from_file() -> Result<Option<String>> {
    let Some(path) = std::env::var_os(VARIABLE).map(PathBuf::from) else { return Ok(None) };
    let text = fs::read_to_string(&path)
        .with_context(|| format!("read the password from {} ({VARIABLE})", path.display()))?;
    Ok(Some(text.lines().next().unwrap_or_default().to_owned()))
}

/// What netrc has for a host, and for a user when one is named.
fn netrc(host: &str, user: Option<&str>) -> Result<Option<(String, String)>> {
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".netrc"));
    let Some(path) = std::env::var_os("NETRC").map(PathBuf::from).or(home) else { return Ok(None) };
    let Ok(facts) = fs::metadata(&path) else { return Ok(None) };
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let found = entry(&text, host, user);
    if found.is_some() && facts.mode() & 0o077 != 0 {
        let message = format!(
            "{} may be used by others (mode {:04o}): chmod 600 it",
            path.display(),
            facts.mode() & 0o7777
        );
        return Err(Ended::because(Exit::Wrong, message));
    }
    Ok(found)
}

/// The entry of `machine HOST`, or `default`, in the words of a netrc.
fn entry(text: &str, host: &str, user: Option<&str>) -> Option<(String, String)> {
    let mut words =
        text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(str::split_whitespace);
    let (mut is_meant, mut login, mut found) = (false, None, None);
    while let Some(word) = words.next() {
        match word {
            "machine" => (is_meant, login) = (words.next()? == host, None),
            "default" => (is_meant, login) = (true, None),
            "login" => login = words.next().map(str::to_owned),
            "password" if is_meant => found = words.next().map(str::to_owned),
            "password" | "account" => drop(words.next()),
            _ => {}
        }
        if let (true, Some(login), Some(password)) = (is_meant, &login, &found) {
            if user.is_none_or(|user| user == login) {
                return Some((login.clone(), password.clone()));
            }
            found = None;
        }
    }
    None
}

/// Asks on the terminal, which does not show what is typed.
fn ask(prompt: &str) -> Result<String> {
    let path = Path::new("/dev/tty");
    let mut terminal = OpenOptions::new().read(true).write(true).open(path).map_err(|_| {
        let message = format!(
            "there is no terminal to ask for a password: put it into a file and name that in {VARIABLE}"
        );
        Ended::because(Exit::Wrong, message)
    })?;
    terminal.write_all(prompt.as_bytes()).context("write to the terminal")?;
    let silenced = Silenced::new(&terminal)?;
    let mut line = String::new();
    BufReader::new(&terminal).read_line(&mut line).context("read from the terminal")?;
    drop(silenced);
    terminal.write_all(b"\n").context("write to the terminal")?;
    let line = line.trim_end_matches(['\n', '\r']);
    if line.contains('\u{3}') {
        return Err(Ended::because(Exit::Stopped, "nothing was changed"));
    }
    Ok(line.to_owned())
}

/// A terminal that shows nothing and sends no signals, so that it never stays so; as before when dropped.
struct Silenced<'a>(&'a File, Termios);

impl Silenced<'_> {
    fn new(terminal: &File) -> Result<Silenced<'_>> {
        let before = tcgetattr(terminal).context("ask the terminal how it is set")?;
        let mut silent = before.clone();
        silent.local_flags.remove(LocalFlags::ECHO | LocalFlags::ISIG);
        tcsetattr(terminal, SetArg::TCSAFLUSH, &silent)
            .context("keep the terminal from showing the password")?;
        Ok(Silenced(terminal, before))
    }
}

impl Drop for Silenced<'_> {
    fn drop(&mut self) {
        // A terminal that went away needs nothing.
        let _ = tcsetattr(self.0, SetArg::TCSAFLUSH, &self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETRC: &str = "machine db1 login alice password one
machine db1 login bob
  password two
# machine db2 login eve password no
machine db2 password three login carol
default login anybody password four
";

    fn found(host: &str, user: Option<&str>) -> Option<(String, String)> {
        entry(NETRC, host, user)
    }

    #[test]
    fn netrc_has_users_by_host() {
        let pair = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        assert_eq!(found("db1", None), pair("alice", "one"));
        assert_eq!(found("db1", Some("bob")), pair("bob", "two"));
        assert_eq!(found("db2", None), pair("carol", "three"));
        assert_eq!(found("db9", None), pair("anybody", "four"));
        assert_eq!(found("db1", Some("eve")), None);
        assert_eq!(entry("machine", "db1", None), None);
    }
}
