//! `benchd scrape-config`: what a Prometheus needs to scrape this host.

use anyhow::{Context, Result};
use serde_json::json;

use super::{Common, Output, in_words, text};
use crate::config::{Config, Listen, UserRole};
use crate::exit::{Ended, Exit};
use crate::http::{WebSummary, check_web};

/// What a Prometheus needs to scrape this host
#[derive(Debug, clap::Args)]
pub(crate) struct ScrapeConfig {
    /// The target for a file of file_sd_configs, in place of a whole job
    #[arg(long)]
    file_sd: bool,
    /// Name or address by which Prometheus reaches this host [default: the host's name]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
}

impl ScrapeConfig {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        let config = common.load()?.config;
        let web = check_web(&config).map_err(|problems| Ended::because(Exit::Wrong, in_words(&problems)))?;
        let target = self.target(&config)?;
        if self.file_sd {
            return text::print_json(&json!([{ "targets": [target], "labels": {} }]));
        }
        let job = job(&target, &config, &web);
        match common.output {
            Output::Text => text::print(&job),
            _ => text::print_json(&json!({ "schema": 1, "target": target, "tls": web.tls, "job": job })),
        }
    }

    /// The first address that other hosts reach, else the first.
    fn target(&self, config: &Config) -> Result<String> {
        let listen = &config.server.listen;
        let Some(chosen) = listen.iter().find(|listen| !listen.is_loopback()).or(listen.first()) else {
            let message = "the daemon listens on no TCP address: set server.listen, for example \":10104\"";
            return Err(Ended::because(Exit::Wrong, message));
        };
        let host = match (&self.host, chosen.address) {
            (Some(host), _) => host.clone(),
            (None, Some(address)) if !address.is_unspecified() => return Ok(Listen { ..*chosen }.to_string()),
            (None, _) => {
                let name = nix::unistd::gethostname().context("ask for the name of this host")?;
                name.to_string_lossy().into_owned()
            }
        };
        let host = if host.parse::<std::net::Ipv6Addr>().is_ok() { format!("[{host}]") } else { host };
        Ok(format!("{host}:{}", chosen.port))
    }
}

fn job(target: &str, config: &Config, web: &WebSummary) -> String {
    let mut lines = vec![
        "- job_name: benchd".to_owned(),
        format!(
            "  scrape_interval: 15s                      # at most {}, the window of the peaks",
            longest_window(config)
        ),
    ];
    if web.tls {
        lines.push("  scheme: https".to_owned());
        lines.push("  tls_config:".to_owned());
        lines.push("    ca_file: /etc/prometheus/benchd.crt     # the authority of the certificate, or a copy of one that is self-signed".to_owned());
        if web.verifies {
            lines.push("    cert_file: /etc/prometheus/client.crt   # a certificate that client_ca_file of benchd has signed".to_owned());
            lines.push("    key_file: /etc/prometheus/client.key".to_owned());
        }
    }
    if let Some(user) = scraper(config, web) {
        lines.push("  basic_auth:".to_owned());
        lines.push(format!("    username: {user:?}"));
        lines.push("    password_file: /etc/prometheus/benchd.password".to_owned());
    }
    lines.push(format!("  static_configs: [{{targets: [{target:?}]}}]"));
    if config.server.listen.iter().all(Listen::is_loopback) {
        lines.push(
            "# Only this host can scrape it: to let others in, set server.listen to \":10104\"".to_owned(),
        );
    } else if web.has_logins() && !web.tls {
        lines.push("# Other hosts are not let in without TLS: benchd user tls --self-signed".to_owned());
    }
    lines.join("\n") + "\n"
}

/// The scrape interval must not be longer than one of the windows, or peaks are lost.
fn longest_window(config: &Config) -> String {
    config.sample.peak_windows.iter().max().map_or_else(|| "60s".to_owned(), ToString::to_string)
}

/// The user who may do least.
fn scraper<'a>(config: &Config, web: &'a WebSummary) -> Option<&'a String> {
    let role = |user: &&String| config.server.roles.get(*user).copied().unwrap_or(UserRole::Scrape);
    web.users.iter().min_by_key(role)
}
