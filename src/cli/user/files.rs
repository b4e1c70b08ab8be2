//! The files that users stand in: read, and replaced as a whole or not at all.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use nix::unistd::{Gid, Group, Uid, fchown};

use crate::cli::{Common, in_words};
use crate::exit::{Ended, Exit};

/// Roles that this command sets stand here, unless `[server.roles]` stands in another file.
const ROLES: &str = "/etc/benchd/conf.d/roles.toml";

/// The web configuration and the file of the roles.
pub(super) struct Files {
    pub(super) web: PathBuf,
    pub(super) roles: PathBuf,
    group: Option<String>,
}

impl Files {
    pub(super) fn find(common: &Common) -> Result<Files> {
        let loaded = common.load()?;
        let server = &loaded.config.server;
        let web = server.web_config.clone().ok_or_else(|| {
            Ended::because(
                Exit::Wrong,
                "server.web_config is empty: name a file for users and certificates there",
            )
        })?;
        let written =
            loaded.sources.line("server.roles").map(|_| loaded.sources.problem("server.roles", "", "").file);
        let roles = written.map(PathBuf::from).or_else(|| common.config.clone());
        let group = server.socket_group.clone();
        Ok(Files { web, roles: roles.unwrap_or_else(|| PathBuf::from(ROLES)), group })
    }

    pub(super) fn web_text(&self) -> Result<String> {
        text_of(&self.web)
    }

    pub(super) fn roles_text(&self) -> Result<String> {
        text_of(&self.roles)
    }

    /// Replaces files; when the configuration has problems with them, all are as they were.
    pub(super) fn write(&self, common: &Common, changes: &[(PathBuf, String)]) -> Result<()> {
        let mut before = Vec::new();
        for (path, text) in changes {
            let old = path.exists().then(|| text_of(path)).transpose()?;
            if old.as_deref() == Some(text) || (old.is_none() && text.is_empty()) {
                continue;
            }
            let replaced = self.replace(path, text);
            before.push((path, old));
            if let Err(error) = replaced {
                self.restore(&before)?;
                return Err(error);
            }
        }
        let Err(problems) = common.try_load() else { return Ok(()) };
        self.restore(&before)?;
        Err(Ended::because(Exit::Wrong, format!("nothing was changed: {}", in_words(&problems))))
    }

    fn restore(&self, before: &[(&PathBuf, Option<String>)]) -> Result<()> {
        for (path, old) in before {
            match old {
                Some(text) => self.replace(path, text)?,
                None => remove(path)?,
            }
        }
        Ok(())
    }

    /// Writes beside and renames, so that nobody reads half a file. Owner and mode stay; a new file is for the
    /// group of the daemon alone.
    pub(super) fn replace(&self, path: &Path, text: &str) -> Result<()> {
        let what = || format!("write {}", path.display());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(what).map_err(forbidden)?;
        }
        let old = fs::metadata(path).ok();
        let mode = old.as_ref().map_or(0o640, |facts| facts.mode() & 0o7777);
        let beside = path.with_extension(format!("new{}", std::process::id()));
        let opened = File::options().write(true).create_new(true).mode(0o600).open(&beside);
        let mut file = opened.with_context(what).map_err(forbidden)?;
        let owner = old
            .map(|facts| (Uid::from_raw(facts.uid()), Gid::from_raw(facts.gid())))
            .or_else(|| self.daemon());
        let written = (|| {
            if let Some((user, group)) = owner {
                fchown(&file, Some(user), Some(group))?;
            }
            file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, path)
        })();
        if written.is_err() {
            // It is ours, and what went wrong is told already.
            let _ = fs::remove_file(&beside);
        }
        written.with_context(what).map_err(forbidden)
    }

    /// Who a file of root's is for; another user's files are that user's own.
    fn daemon(&self) -> Option<(Uid, Gid)> {
        let user = nix::unistd::geteuid();
        let group = Group::from_name(self.group.as_deref().filter(|_| user.is_root())?).ok()??;
        Some((user, group.gid))
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// The text of a file; one that does not exist has none.
fn text_of(path: &Path) -> Result<String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(forbidden(anyhow::Error::from(error).context(format!("read {}", path.display())))),
    }
}

/// An error that says so when it is only a matter of rights.
fn forbidden(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<std::io::Error>().map(std::io::Error::kind) {
        Some(ErrorKind::PermissionDenied) => {
            Ended::because(Exit::Forbidden, format!("{error:#}: only root may, or the owner of the file"))
        }
        _ => error,
    }
}
