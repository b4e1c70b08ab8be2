//! The server program a scratch server is started from.

use std::env;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use super::process::{Account, Waited, wait_for_end};
use crate::units::Span;

/// Names of server programs, the preferred first.
const NAMES: [&str; 2] = ["mariadbd", "mysqld"];
/// Where servers are installed beside `PATH`.
const DIRECTORIES: [&str; 2] = ["/usr/sbin", "/usr/libexec"];
/// Names of the program that makes MariaDB's data directory.
const INSTALLERS: [&str; 2] = ["mariadb-install-db", "mysql_install_db"];
/// The longest a program may take to say its version.
const VERSION_LIMIT: Span = Span::from_secs(20);

/// The two families of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Flavour {
    MariaDB,
    MySQL,
}

/// A server program and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) flavour: Flavour,
    /// As the program says it, `10.11.19-MariaDB-0+deb12u1`.
    pub(crate) version: String,
}

impl Program {
    /// The program at a path, or the first one installed.
    pub(crate) fn find(server: Option<&Path>, account: Option<&Account>) -> anyhow::Result<Program> {
        let path = match server {
            Some(path) if is_program(path) => path.to_owned(),
            Some(path) => bail!("`server` {} is not a program; give the path of mariadbd or mysqld", path.display()),
            None => installed(&NAMES).context(
                "neither mariadbd nor mysqld is in PATH, /usr/sbin or /usr/libexec; install a server, or give the \
                 path of one as `server`",
            )?,
        };
        let said = ask_version(&path, account)?;
        let (flavour, version) = understand(&said).with_context(|| {
            format!("{} is not a MariaDB or MySQL server: to --version it said {said:?}", path.display())
        })?;
        Ok(Program { path, flavour, version })
    }

    /// The program that makes a data directory for this MariaDB server: the one that was installed with it, else
    /// the first one installed. With the former goes the directory both were installed in.
    pub(crate) fn installer(&self) -> anyhow::Result<(PathBuf, Option<PathBuf>)> {
        let prefix = self.path.parent().and_then(Path::parent).filter(|prefix| *prefix != Path::new("/usr"));
        let beside = prefix.and_then(|prefix| {
            let folders = ["bin", "scripts", "sbin"].map(|folder| prefix.join(folder));
            let found = first_program(&INSTALLERS, folders)?;
            Some((found, Some(prefix.to_owned())))
        });
        let found = beside.or_else(|| installed(&INSTALLERS).map(|found| (found, None)));
        found.context(
            "mariadb-install-db is neither beside the server nor in PATH; install the server's package whole",
        )
    }

    /// `MariaDB 10.11.19`: for people.
    pub(crate) fn short(&self) -> String {
        let digits = self.version.split(['-', '+']).next().unwrap_or_default();
        format!("{:?} {digits}", self.flavour)
    }
}

fn installed(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).chain(DIRECTORIES.map(PathBuf::from)).collect();
    first_program(names, folders)
}

fn first_program(names: &[&str], folders: impl IntoIterator<Item = PathBuf> + Clone) -> Option<PathBuf> {
    names
        .iter()
        .flat_map(|name| folders.clone().into_iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_absolute() && is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

fn ask_version(path: &Path, account: Option<&Account>) -> anyhow::Result<String> {
    let mut command = Command::new(path);
    command.args(["--no-defaults", "--version"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(account) = account {
        account.run(&mut command);
    }
    crate::system::end_with_this_thread(&mut command);
    let mut child = command.spawn().with_context(|| format!("{} cannot be started", path.display()))?;
    if wait_for_end(&mut child, VERSION_LIMIT, &|| false) == Waited::Late {
        let _ = child.kill();
        let _ = child.wait();
        bail!("{} --version did not end within {VERSION_LIMIT}", path.display());
    }
    let mut said = String::new();
    if let Some(output) = child.stdout.take() {
        output
            .take(4096)
            .read_to_string(&mut said)
            .with_context(|| format!("{} said no text", path.display()))?;
    }
    Ok(said.trim().to_owned())
}

/// Understands `mysqld  Ver 9.7.4 for Linux …` and `mariadbd  Ver 10.11.19-MariaDB-…`.
fn understand(said: &str) -> Option<(Flavour, String)> {
    let version = said.split_once("Ver ")?.1.split_ascii_whitespace().next()?;
    version.starts_with(|first: char| first.is_ascii_digit()).then_some(())?;
    let flavour = if said.contains("MariaDB") { Flavour::MariaDB } else { Flavour::MySQL };
    Some((flavour, version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_flavours_are_understood() {
        let mariadb = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)";
        assert_eq!(understand(mariadb), Some((Flavour::MariaDB, "10.11.19-MariaDB-0+deb12u1".to_owned())));
        let mysql = "/opt/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))";
        assert_eq!(understand(mysql), Some((Flavour::MySQL, "9.7.4-2".to_owned())));
        for other in ["", "GNU bash, version 5.2", "tool Ver x"] {
            assert_eq!(understand(other), None, "{other}");
        }
    }

    #[test]
    fn a_data_directory_is_made_by_what_came_with_the_server() {
        let directory = tempfile::tempdir().unwrap();
        let prefix = directory.path().to_owned();
        for name in ["bin/mariadbd", "scripts/mariadb-install-db"] {
            let path = prefix.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = prefix.join("bin/mariadbd");
        let program = Program { path, flavour: Flavour::MariaDB, version: "11.4.2-MariaDB".to_owned() };
        assert_eq!(program.short(), "MariaDB 11.4.2");
        let expected = (prefix.join("scripts/mariadb-install-db"), Some(prefix));
        assert_eq!(program.installer().unwrap(), expected);
    }

    #[test]
    fn a_server_given_must_be_a_server() {
        let error = Program::find(Some(Path::new("/nonexistent")), None).unwrap_err().to_string();
        assert!(error.starts_with("`server` /nonexistent is not a program"), "{error}");
        let error = format!("{:#}", Program::find(Some(Path::new("/bin/true")), None).unwrap_err());
        assert!(error.contains("/bin/true is not a MariaDB or MySQL server"), "{error}");
    }
}
