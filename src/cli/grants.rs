//! `benchd grants`: the statements by which an administrator lets benchd into a server, and whether they hold.

use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::Daemon;
use super::{Common, Output, local, runtime, text};
use crate::config::{Binlog, Config, Endpoint, Role, ServerTarget, Target};
use crate::exit::{Ended, Exit};
use crate::record::SCHEMA;
use crate::run::guards::{MOST_CONNECTIONS, connections_of};
use crate::run::server_access;
use crate::store::Reader;
use crate::target::{
    Access, Client, Difference, Group, Purpose, ServerVersion, compare_privileges, needed, read_password,
    schema_name, suppressing,
};

/// Where servers have their sockets when nobody says otherwise.
const SOCKETS: &[&str] = &["/var/lib/mysql/mysql.sock", "/run/mysqld/mysqld.sock", "/tmp/mysql.sock"];
/// The account where the configuration names none.
const USER: &str = "benchd";
/// Connections beside those of clients: of the worker, and of whoever looks.
const SPARE_CONNECTIONS: u64 = 8;

/// The statements that let benchd into a server, for its administrator to run: benchd grants | sudo mysql
#[derive(Debug, clap::Args)]
pub(crate) struct Grants {
    /// A server target, or a server's socket [default: the only one there is]
    server: Option<String>,
    /// Log in with a password even over the socket; by TCP there is no other way
    #[arg(long)]
    password: bool,
    /// The way back
    #[arg(long, conflicts_with_all = ["password", "check"])]
    revoke: bool,
    /// Compare with what the account has; exit 1 when it lacks something or has more
    #[arg(long, conflicts_with = "password")]
    check: bool,
}

/// A server, and what the configuration says of it.
struct Place<'a> {
    /// The target's name; none for a bare socket.
    target: Option<(&'a str, &'a ServerTarget)>,
    access: Access,
}

impl Grants {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        let config = common.load()?.config;
        let place = self.place(&config)?;
        let version = ServerVersion::ask(&place.access)?;
        let groups = needed(&version, &place.purpose(identity(common, &config)));
        if self.check {
            return check(&place, &groups, common.output);
        }
        let account = account(&place.access);
        let statements = if self.revoke {
            vec![(String::new(), format!("DROP USER IF EXISTS {account}"))]
        } else {
            self.statements(&place, &version, &account, &groups, most_clients(&config, &place))?
        };
        let head = format!(
            "{version} on {}. Run as its administrator: {} | sudo mysql",
            place.access.address(),
            self.as_typed()
        );
        print(&place, &head, &statements, common.output, self.revoke)
    }

    /// The server that is meant.
    fn place<'a>(&self, config: &'a Config) -> Result<Place<'a>> {
        let servers = config.targets.iter().filter_map(|(name, target)| match target {
            Target::Server(server) => Some((name.as_str(), server)),
            Target::Scratch(_) | Target::Directory(_) => None,
        });
        let servers: Vec<(&str, &ServerTarget)> = servers.collect();
        match &self.server {
            Some(socket) if socket.starts_with('/') => Ok(Place::socket(socket)),
            Some(name) => match servers.iter().find(|(known, _)| known == name) {
                Some((name, server)) => Place::target(name, server),
                None => Err(wrong(format!(
                    "`{name}` is no target of kind server{}, and no path of a socket",
                    known(&servers)
                ))),
            },
            None => match servers.as_slice() {
                [(name, server)] => Place::target(name, server),
                [] => SOCKETS
                    .iter()
                    .find(|socket| Path::new(socket).exists())
                    .map(|socket| Place::socket(socket))
                    .ok_or_else(|| {
                        wrong(format!(
                            "no server target is configured, and no server's socket is at {}: name one",
                            SOCKETS.join(", ")
                        ))
                    }),
                _ => Err(wrong(format!("which server? Name one{}", known(&servers)))),
            },
        }
    }

    fn as_typed(&self) -> String {
        let words = ["benchd grants".to_owned()].into_iter().chain(self.server.clone());
        let flags = [(self.password, "--password"), (self.revoke, "--revoke")];
        let flags = flags.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag.to_owned());
        words.chain(flags).collect::<Vec<_>>().join(" ")
    }

    /// Each statement with the remark above it.
    fn statements(
        &self,
        place: &Place<'_>,
        version: &ServerVersion,
        account: &str,
        groups: &[Group],
        connections: u64,
    ) -> Result<Vec<(String, String)>> {
        let (remark, login) = if self.password || place.access.socket.is_none() {
            place.by_password(version)?
        } else {
            place.by_socket(version)
        };
        let create = format!(
            "CREATE USER IF NOT EXISTS {account} IDENTIFIED {login} WITH MAX_USER_CONNECTIONS {connections}"
        );
        let mut statements = vec![(remark, create)];
        statements.extend(
            groups
                .iter()
                .map(|group| (group.why.to_owned(), format!("GRANT {} TO {account}", group.granted()))),
        );
        if place.suppresses() && place.loads() && suppressing(version).is_none() {
            let remark = format!(
                "{version} lets SUPER alone keep a load out of the binary log, and benchd takes no SUPER: set binlog = \"log\""
            );
            statements.push((remark, String::new()));
        }
        Ok(statements)
    }
}

impl<'a> Place<'a> {
    fn socket(socket: &str) -> Place<'a> {
        Place { target: None, access: Access::by_socket(socket, USER) }
    }

    /// A target's server. Its password need not be there yet.
    fn target(name: &'a str, server: &'a ServerTarget) -> Result<Place<'a>> {
        let user = server.user.clone().unwrap_or_else(|| USER.to_owned());
        let access = match server.endpoint.clone() {
            Some(Endpoint::Socket { socket }) => Access::by_socket(socket, user),
            Some(Endpoint::Tcp { host, port }) => Access { host, port, user, ..Access::default() },
            None => server_access(name, server)?,
        };
        Ok(Place { target: Some((name, server)), access })
    }

    /// A server nobody has configured yet is to be loaded as well.
    fn loads(&self) -> bool {
        self.target.is_none_or(|(_, server)| server.writes)
    }

    fn suppresses(&self) -> bool {
        self.target.is_none_or(|(_, server)| server.binlog == Binlog::Suppress)
    }

    fn purpose(&self, daemon: Option<Uuid>) -> Purpose {
        let schema = daemon.map_or_else(|| "benchd_scratch_%".to_owned(), schema_name);
        Purpose {
            load: self.loads().then_some(schema),
            suppress_binlog: self.suppresses(),
            ndb: self.target.is_some_and(|(_, server)| server.role == Some(Role::Ndb)),
        }
    }

    /// How the account proves itself by who it is on this host.
    fn by_socket(&self, version: &ServerVersion) -> (String, String) {
        let user = &self.access.user;
        if version.is_mariadb {
            let remark = format!("login by the socket: the system user {user}, no password");
            return (remark, "VIA unix_socket".to_owned());
        }
        let remark = format!(
            "login by the socket: the system user {user}, no password. The plugin auth_socket must be active (else: \
             INSTALL PLUGIN auth_socket SONAME 'auth_socket.so')"
        );
        (remark, "WITH auth_socket".to_owned())
    }

    /// The password of the target's file where there is one, else a new one.
    fn by_password(&self, version: &ServerVersion) -> Result<(String, String)> {
        let configured = self.target.and_then(|(_, server)| server.password_file.clone());
        let name = self.target.map_or("main", |(name, _)| name);
        let file = configured.unwrap_or_else(|| PathBuf::from(format!("/etc/benchd/{name}-password")));
        let shown = file.display();
        let (mut remark, password) = if file.exists() {
            (format!("login by the password in {shown}"), read_password(&file)?.reveal().to_owned())
        } else {
            let new = Uuid::new_v4().simple().to_string();
            let remark = format!(
                "login by a new password; it stands nowhere else. Keep it: (umask 077; echo {new} > {shown}) && chgrp \
                 benchd {shown} && chmod 640 {shown}, and password_file = \"{shown}\" in the target"
            );
            (remark, new)
        };
        let password = password.replace('\\', "\\\\").replace('\'', "''");
        if version.is_mariadb {
            remark.push_str(". The plugin ed25519 must be active (else: INSTALL SONAME 'auth_ed25519')");
            return Ok((remark, format!("VIA ed25519 USING PASSWORD('{password}')")));
        }
        Ok((remark, format!("WITH caching_sha2_password BY '{password}'")))
    }
}

fn known(servers: &[(&str, &ServerTarget)]) -> String {
    let names: Vec<&str> = servers.iter().map(|(name, _)| *name).collect();
    if names.is_empty() { " (none is configured)".to_owned() } else { format!(" of {}", names.join(", ")) }
}

fn wrong(why: String) -> anyhow::Error {
    Ended::because(Exit::Wrong, why)
}

/// Who benchd is: as the daemon says, or the store. Not known before either was started.
fn identity(common: &Common, config: &Config) -> Option<Uuid> {
    let asked = runtime().ok()?.block_on(async {
        let daemon = Daemon::find(common).await.ok()??;
        let status: Value = daemon.get("/api/v1/status").await.ok()?.accepted().ok()?;
        status["identity"].as_str()?.parse().ok()
    });
    asked.or_else(|| {
        let store = local::store_path(config).ok().filter(|store| store.exists())?;
        Reader::open(&store).ok()?.identity().ok()
    })
}

/// The account as the server sees it: by the socket from this host, by TCP from the address this host has there.
fn account(access: &Access) -> String {
    let host = match &access.socket {
        Some(_) => "localhost".to_owned(),
        None => own_address(access).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)).to_string(),
    };
    format!("'{}'@'{host}'", access.user.replace('\'', "''"))
}

fn own_address(access: &Access) -> Option<IpAddr> {
    let stream = TcpStream::connect((access.host.as_str(), access.port)).ok()?;
    Some(stream.local_addr().ok()?.ip())
}

/// Connections the account needs: those of the largest case that is allowed or configured, and a few beside them.
fn most_clients(config: &Config, place: &Place<'_>) -> u64 {
    let name = place.target.map(|(name, _)| name);
    let cases = config.suites.values().flat_map(|suite| &suite.cases);
    let here = cases.filter(|case| name.is_some() && case.target.as_deref() == name);
    let most = here.map(|case| connections_of(&case.parameters)).max().unwrap_or(0);
    most.max(MOST_CONNECTIONS) + SPARE_CONNECTIONS
}

fn print(
    place: &Place<'_>,
    head: &str,
    statements: &[(String, String)],
    output: Output,
    revoke: bool,
) -> Result<Exit> {
    if output != Output::Text {
        let sql: Vec<&str> =
            statements.iter().map(|(_, sql)| sql.as_str()).filter(|sql| !sql.is_empty()).collect();
        return text::print_json(&json!({
            "schema": SCHEMA, "cmd": "grants", "server": place.access.address(), "target": place.target.map(|(name, _)| name),
            "revoke": revoke, "statements": sql,
        }));
    }
    let mut lines = vec![format!("-- {head}")];
    if let Some((name, _)) = place.target.filter(|_| !place.loads() && !revoke) {
        lines.push(format!("-- [target.{name}] does not say writes = true: benchd only observes"));
    }
    if revoke {
        lines.push("-- before it, to have its tables dropped: benchd scratch --remove; the empty schema is then yours to drop".to_owned());
    }
    for (remark, sql) in statements {
        lines.extend((!remark.is_empty()).then(|| format!("-- {remark}")));
        lines.extend((!sql.is_empty()).then(|| format!("{sql};")));
    }
    text::print(&(lines.join("\n") + "\n"))
}

/// Logs in as benchd does, and compares.
fn check(place: &Place<'_>, groups: &[Group], output: Output) -> Result<Exit> {
    let access = match place.target {
        Some((name, server)) => server_access(name, server)?,
        None => place.access.clone(),
    };
    // What a session needs privileges for is the question itself.
    let mut client = Client::connect(&Access { suppress_binlog: false, ..access })?;
    let found = compare_privileges(&mut client, groups)?;
    let rows = client.rows("SELECT CURRENT_USER()")?;
    client.close();
    let user = rows
        .into_iter()
        .flatten()
        .flatten()
        .next()
        .ok_or_else(|| anyhow!("the server does not say who is logged in"))?;
    let good = found == Difference::default();
    if output == Output::Text {
        text::print(&compared(place, &user, &found))?;
    } else {
        let each =
            |list: &[crate::target::Privilege]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        text::print_json(&json!({
            "schema": SCHEMA, "cmd": "grants", "server": place.access.address(), "target": place.target.map(|(name, _)| name),
            "account": user, "ok": good, "lacking": each(&found.lacking), "excessive": each(&found.excessive),
        }))?;
    }
    Ok(if good { Exit::Done } else { Exit::Failed })
}

fn compared(place: &Place<'_>, user: &str, found: &Difference) -> String {
    let name = place.target.map_or_else(|| place.access.address(), |(name, _)| name.to_owned());
    let (account, host) = user.rsplit_once('@').unwrap_or((user, "%"));
    let quoted = format!("'{account}'@'{host}'");
    let mut lines = vec![match found.lacking.is_empty() {
        true => format!("{name}: {user} has what the configuration needs"),
        false => format!("{name}: {user} lacks what the configuration needs:"),
    }];
    lines.extend(found.lacking.iter().map(|one| format!("  GRANT {one} TO {quoted};")));
    if !found.excessive.is_empty() {
        lines.push("It also has what is not needed:".to_owned());
    }
    lines.extend(found.excessive.iter().map(|one| format!("  REVOKE {one} FROM {quoted};")));
    lines.join("\n") + "\n"
}
