//! Certificates for tests, made by the openssl program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// An authority with the certificates it signed.
pub(crate) struct Authority {
    directory: TempDir,
}

impl Authority {
    /// Makes an authority; without the program it is a loud skip.
    pub(crate) fn new() -> Option<Authority> {
        if Command::new("openssl").arg("version").output().is_err() {
            super::skip("openssl");
            return None;
        }
        let authority = Authority { directory: super::directory() };
        fs::write(authority.path("config"), "[req]\ndistinguished_name = name\n[name]\n").unwrap();
        authority.make("ca", &["-addext", "basicConstraints=critical,CA:TRUE"]);
        Some(authority)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The authority's own certificate.
    pub(crate) fn ca(&self) -> PathBuf {
        self.path("ca.pem")
    }

    /// Signs a certificate for these names (`DNS:one.example,IP:127.0.0.1`); gives its file and its key's.
    pub(crate) fn sign(&self, file: &str, names: &str) -> (PathBuf, PathBuf) {
        self.sign_for(file, names, "2")
    }

    /// Likewise one that is valid for so many days; none: it expires as it is made.
    pub(crate) fn sign_for(&self, file: &str, names: &str, days: &str) -> (PathBuf, PathBuf) {
        let (ca, key) = (self.ca(), self.path("ca.key"));
        let names = format!("subjectAltName={names}");
        let signed = ["-CA", text(&ca), "-CAkey", text(&key), "-addext", &names, "-days", days];
        self.make(file, &signed);
        (self.path(&format!("{file}.pem")), self.path(&format!("{file}.key")))
    }

    fn make(&self, file: &str, further: &[&str]) {
        let mut command = Command::new("openssl");
        command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]);
        command.args(["-days", "2", "-subj", &format!("/CN={file}"), "-config"]).arg(self.path("config"));
        command.arg("-keyout").arg(self.path(&format!("{file}.key")));
        command.arg("-out").arg(self.path(&format!("{file}.pem"))).args(further);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A server's options that make it speak TLS with a certificate for these names.
    pub(crate) fn server(&self, names: &str) -> Vec<String> {
        let (cert, key) = self.sign("server", names);
        // The server is another account.
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        let option = |name: &str, path: &Path| format!("--ssl-{name}={}", path.display());
        vec![option("ca", &self.ca()), option("cert", &cert), option("key", &key)]
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
