//! A certificate for the HTTP interface: one that exists, or one that this host signs itself.

use std::io::Write as _;
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::edit;
use super::files::Files;
use crate::cli::{Common, in_words};
use crate::config::{Pem, load_web};
use crate::exit::{Ended, Exit};

/// Files beside the web configuration.
const CERTIFICATE: &str = "benchd.crt";
const KEY: &str = "benchd.key";
/// How long a certificate of one's own is valid; the metric of its end warns before.
const DAYS: &str = "3650";

/// Uses a certificate that exists.
pub(super) fn existing(common: &Common, cert: &Path, key: &Path) -> Result<Exit> {
    let files = Files::find(common)?;
    let absolute = |path: &Path| -> Result<String> {
        let path = path.canonicalize().with_context(|| format!("find {}", path.display()))?;
        path.into_os_string().into_string().ok().context("the path is not UTF-8 text")
    };
    use_pair(common, &files, &absolute(cert)?, &absolute(key)?)?;
    super::finish(common, &format!("TLS is spoken with {}", cert.display()))
}

/// Makes a certificate, or makes it anew, and uses it.
pub(super) fn self_signed(common: &Common, further: &[String]) -> Result<Exit> {
    let files = Files::find(common)?;
    let names = names(further)?;
    refuse_other(&files, CERTIFICATE)?;
    let (cert, key) = make(&names)?;
    let folder = files.web.parent().unwrap_or(Path::new("/"));
    // The key first: while the two do not match, the daemon goes on with those before.
    files.replace(&folder.join(KEY), &key)?;
    files.replace(&folder.join(CERTIFICATE), &cert)?;
    use_pair(common, &files, CERTIFICATE, KEY)?;
    let place = folder.join(CERTIFICATE);
    let place = place.display();
    super::finish(
        common,
        &format!("{place} is valid for {}. Scrapers trust it by a copy of it: ca_file", names.join(", ")),
    )
}

fn use_pair(common: &Common, files: &Files, cert: &str, key: &str) -> Result<()> {
    let text = files.web_text()?;
    if refuse_other(files, cert)? {
        return Ok(());
    }
    files.write(common, &[(files.web.clone(), edit::tls(&text, cert, key))])
}

/// Whether the web configuration names this certificate already; one that names another is a person's.
fn refuse_other(files: &Files, cert: &str) -> Result<bool> {
    if !files.web.exists() {
        return Ok(false);
    }
    let loaded = load_web(&files.web).map_err(|problems| Ended::because(Exit::Wrong, in_words(&problems)))?;
    let Some(tls) = loaded.config.tls else { return Ok(false) };
    if tls.cert == Pem::File(files.web.with_file_name(cert)) || tls.cert == Pem::File(cert.into()) {
        return Ok(true);
    }
    let message = format!(
        "nothing was changed: {} has a tls_server_config already; change cert_file and key_file there",
        files.web.display()
    );
    Err(Ended::because(Exit::Wrong, message))
}

/// What clients may call this host: its names and addresses, and what was added.
fn names(further: &[String]) -> Result<Vec<String>> {
    let host = nix::unistd::gethostname().context("ask for the name of this host")?;
    let mut names = vec![host.to_string_lossy().into_owned(), "localhost".to_owned()];
    names.extend(further.iter().cloned());
    let addresses = nix::ifaddrs::getifaddrs().context("ask for the addresses of this host")?;
    for address in addresses.filter_map(|interface| interface.address) {
        let four = address.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
        let six = address.as_sockaddr_in6().map(|six| six.ip()).filter(|six| !six.is_unicast_link_local());
        names.extend(four.or(six.map(IpAddr::V6)).map(|address| address.to_string()));
    }
    if let Some(wrong) =
        names.iter().find(|name| !name.chars().all(|c| c.is_ascii_alphanumeric() || ".-_:*".contains(c)))
    {
        return Err(Ended::because(Exit::Wrong, format!("`{wrong}` is not the name of a host")));
    }
    let mut known = std::collections::BTreeSet::new();
    names.retain(|name| !name.is_empty() && known.insert(name.clone()));
    Ok(names)
}

/// Certificate and key as PEM, made by the program openssl.
fn make(names: &[String]) -> Result<(String, String)> {
    let all: Vec<String> = names
        .iter()
        .map(|name| format!("{}:{name}", if name.parse::<IpAddr>().is_ok() { "IP" } else { "DNS" }))
        .collect();
    let first = names.first().map_or("benchd", String::as_str);
    let settings = format!(
        "[req]\ndistinguished_name=name\nx509_extensions=extensions\nprompt=no\n[name]\nCN={}\n[extensions]\nsubjectAltName={}\n\
         basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth\n",
        first.chars().take(64).collect::<String>(),
        all.join(","),
    );
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]);
    command.args(["-days", DAYS, "-config", "/dev/stdin", "-keyout", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| {
        let advice = "install openssl, or make a certificate elsewhere and give it with --cert and --key";
        Ended::because(Exit::Failed, format!("the program openssl cannot be started: {error}; {advice}"))
    })?;
    let mut input = child.stdin.take().context("openssl has no input")?;
    input.write_all(settings.as_bytes()).context("write to openssl")?;
    drop(input);
    let output = child.wait_with_output().context("wait for openssl")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "openssl made no certificate: {}", said.trim());
    let text = String::from_utf8(output.stdout).context("read what openssl made")?;
    let at = text.find("-----BEGIN CERTIFICATE-----").context("openssl made no certificate")?;
    Ok((text[at..].to_owned(), text[..at].to_owned()))
}
