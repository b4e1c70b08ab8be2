//! `benchd user`: users, roles and the certificate of the HTTP interface.

mod certificate;
mod edit;
mod files;

use anyhow::{Context, Result};
use clap::Subcommand;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::client::Daemon;
use super::{Common, Output, password, text};
use crate::config::UserRole;
use crate::exit::{Ended, Exit};
use crate::text::{or_dash, table, took};
use files::Files;

/// Cost of the hash of a new password; a login with it takes about a tenth of a second the first time.
const COST: u32 = 10;

/// Users, roles and the certificate of the HTTP interface
#[derive(Debug, clap::Args)]
pub(crate) struct User {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Add a user, or give one a new password or role
    Add {
        /// The user's name
        name: String,
        /// What the user may do: scrape, read, trigger, admin; each includes those before it
        #[arg(long, default_value_t = UserRole::Scrape)]
        role: UserRole,
    },
    /// Remove a user
    Remove {
        /// The user's name
        name: String,
    },
    /// The users, with roles and their last visit
    List,
    /// Speak TLS: with a certificate that is made here, or with one that exists
    Tls {
        /// Make a certificate of this host's names and addresses, signed by itself
        #[arg(long, required_unless_present = "cert")]
        self_signed: bool,
        /// A further name or address of this host, for --self-signed
        #[arg(long, value_name = "NAME", requires = "self_signed")]
        name: Vec<String>,
        /// PEM file of a certificate that exists
        #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "self_signed")]
        cert: Option<std::path::PathBuf>,
        /// PEM file of its private key
        #[arg(long, value_name = "FILE", requires = "cert")]
        key: Option<std::path::PathBuf>,
    },
}

impl User {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        if common.url.is_some() && !matches!(self.what, What::List) {
            let message = "users are files of their host: log in there, and leave out --url";
            return Err(Ended::because(Exit::Wrong, message));
        }
        match &self.what {
            What::Add { name, role } => add(common, name, *role),
            What::Remove { name } => remove(common, name),
            What::List => list(common),
            What::Tls { name, cert: None, .. } => certificate::self_signed(common, name),
            What::Tls { cert: Some(cert), key, .. } => {
                certificate::existing(common, cert, key.as_deref().context("--cert needs --key")?)
            }
        }
    }
}

fn add(common: &Common, name: &str, role: UserRole) -> Result<Exit> {
    if name.is_empty() || name.contains(':') || name.chars().any(char::is_control) {
        let message = format!("`{name}` cannot be a user's name: it has no colon and no control characters");
        return Err(Ended::because(Exit::Wrong, message));
    }
    let files = Files::find(common)?;
    let web = files.web_text()?;
    edit::user(&web, name, Some("x")).with_context(|| files.web.display().to_string())?;
    let password = password::new_password()?;
    let hash = bcrypt::hash(password, COST).context("hash the password")?;
    let changes = [
        (files.web.clone(), edit::user(&web, name, Some(&hash))?),
        (files.roles.clone(), edit::role(&files.roles_text()?, name, Some(role.as_str()))),
    ];
    files.write(common, &changes)?;
    finish(
        common,
        &format!("{name} may {}: {} (bcrypt), {}", deeds(role), files.web.display(), files.roles.display()),
    )
}

fn deeds(role: UserRole) -> &'static str {
    match role {
        UserRole::Scrape => "read metrics",
        UserRole::Read => "read everything",
        UserRole::Trigger => "read everything, start and cancel runs",
        UserRole::Admin => "do everything",
    }
}

fn remove(common: &Common, name: &str) -> Result<Exit> {
    let files = Files::find(common)?;
    let (web, roles) = (files.web_text()?, files.roles_text()?);
    let changed = (edit::user(&web, name, None)?, edit::role(&roles, name, None));
    if (&changed.0, &changed.1) == (&web, &roles) {
        return Err(Ended::because(
            Exit::Wrong,
            format!("there is no user `{name}`: benchd user list shows them"),
        ));
    }
    files.write(common, &[(files.web.clone(), changed.0), (files.roles.clone(), changed.1)])?;
    finish(common, &format!("{name} is removed"))
}

/// Tells the daemon, and the person what came of it.
fn finish(common: &Common, done: &str) -> Result<Exit> {
    let reloaded = super::runtime()?.block_on(async {
        match Daemon::find(common).await? {
            Some(daemon) => daemon.post("/-/reload", &Value::Null).await?.accepted().map(|_| true),
            None => Ok(false),
        }
    })?;
    let when = if reloaded { "In force now" } else { "In force when the daemon starts" };
    match common.output {
        Output::Text => text::print(&format!("{done}. {when}\n")),
        _ => text::print_json(&json!({ "schema": 1, "done": done, "in_force": reloaded })),
    }
}

fn list(common: &Common) -> Result<Exit> {
    let answer = super::runtime()?.block_on(async {
        match Daemon::find(common).await? {
            Some(daemon) => daemon.get("/api/v1/users").await?.accepted().map(Some),
            None => Ok(None),
        }
    })?;
    let users = match answer {
        Some(mut answer) => answer["users"].take(),
        None => configured(common)?,
    };
    if common.output != Output::Text {
        return text::print_json(&json!({ "schema": 1, "users": users }));
    }
    let head = ["USER", "ROLE", "FROM", "LAST SEEN"].map(str::to_owned).to_vec();
    let rows = users.as_array().into_iter().flatten().map(row);
    text::print(&table(&std::iter::once(head).chain(rows).collect::<Vec<_>>()))
}

/// The users of the files, of whom no visit is known.
fn configured(common: &Common) -> Result<Value> {
    let config = common.load()?.config;
    let roles = &config.server.roles;
    let web = crate::http::check_web(&config)
        .map_err(|problems| Ended::because(Exit::Wrong, super::in_words(&problems)))?;
    let certificates = roles.keys().filter(|name| name.starts_with("san:")).cloned();
    let user =
        |name: String| json!({ "user": name, "role": roles.get(&name).copied().unwrap_or(UserRole::Scrape) });
    Ok(web.users.into_iter().chain(certificates).map(user).collect())
}

fn row(user: &Value) -> Vec<String> {
    let word = |key: &str| user[key].as_str().unwrap_or("–").to_owned();
    let name = word("user");
    let from = if name.starts_with("san:") { "certificate" } else { "web configuration" };
    let seen = user["last_seen"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
    let seen = or_dash(seen, |at| {
        let ago = Timestamp::now().duration_since(at).as_secs_f64().max(0.0);
        format!("{} ago, {}", took(ago), word("address"))
    });
    vec![name, word("role"), from.to_owned(), seen]
}
