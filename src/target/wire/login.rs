//! From a connected stream to a session: the server's greeting, TLS, and the proof of who asks.

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mysql_async::{DriverError, Error};
use mysql_common::constants::CapabilityFlags as Flags;
use mysql_common::crypto;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse, SslRequest};
use mysql_common::proto::MySerialize;

use super::answer::{END, Ends, OK, broken, server_error};
use super::channel::{Channel, ERROR, Packet, not_understood};
use super::stream::Encryption;
use crate::record::TlsMode;
use crate::target::Access;
use crate::target::client::{MAX_PACKET, attributes};

/// What is asked of every server, if it offers it. `CLIENT_LOCAL_FILES` is not among it: no file of this host is
/// ever sent.
const WANTED: Flags = Flags::from_bits_retain(
    Flags::CLIENT_LONG_PASSWORD.bits()
        | Flags::CLIENT_LONG_FLAG.bits()
        | Flags::CLIENT_PROTOCOL_41.bits()
        | Flags::CLIENT_TRANSACTIONS.bits()
        | Flags::CLIENT_SECURE_CONNECTION.bits()
        | Flags::CLIENT_MULTI_STATEMENTS.bits()
        | Flags::CLIENT_MULTI_RESULTS.bits()
        | Flags::CLIENT_PS_MULTI_RESULTS.bits()
        | Flags::CLIENT_PLUGIN_AUTH.bits()
        | Flags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA.bits()
        | Flags::CLIENT_CONNECT_ATTRS.bits()
        | Flags::CLIENT_DEPRECATE_EOF.bits(),
);
/// `utf8mb4_general_ci`, which every server knows that has `utf8mb4`.
const COLLATION: u8 = 45;
/// Any version with `utf8mb4`; the library asks for it.
const VERSION: (u16, u16, u16) = (5, 5, 3);
/// Bytes of a random text that a password is mixed with.
const NONCE: usize = 20;
/// The old plugin of MySQL that encrypts the password with the server's key. The library does not know it.
const SHA256: &[u8] = b"sha256_password";
/// First byte of a packet that carries more for the plugin.
const MORE: u8 = 0x01;
/// What `caching_sha2_password` says: the hash was found; the password itself is needed.
const FOUND: &[u8] = &[3];
const NEEDED: &[u8] = &[4];
/// How the two plugins with a public key ask for it.
const KEY_WANTED: u8 = 2;
const KEY_WANTED_OLD: u8 = 1;

/// What was learned at the login.
#[derive(Debug, Clone, Copy)]
pub(super) struct Greeted {
    /// The server's number for the connection.
    pub(super) id: u32,
    /// How it tells the end of rows.
    pub(super) ends: Ends,
}

/// What of a greeting matters.
struct Greeting {
    id: u32,
    offered: Flags,
    nonce: Vec<u8>,
    plugin: AuthPlugin<'static>,
}

/// Logs in over a fresh connection, encrypted when that is wanted and the server offers it.
pub(super) fn log_in(
    mut channel: Channel,
    access: &Access,
    encryption: Option<Encryption>,
) -> Result<(Channel, Greeted), Error> {
    let packet = channel.next()?;
    if packet.body.first() == Some(&ERROR) {
        return Err(server_error(packet.body));
    }
    let Greeting { id, offered, nonce, plugin } = guarded(|| greeting(&packet))??;
    let mut flags = offered & WANTED;
    if access.schema.is_some() {
        // MariaDB reads this flag in the request for TLS alone, and names no schema without it.
        flags |= Flags::CLIENT_CONNECT_WITH_DB;
    }
    if let Some(encryption) = encryption {
        if offered.contains(Flags::CLIENT_SSL) {
            flags |= Flags::CLIENT_SSL;
            channel.send(|buffer| SslRequest::new(flags, MAX_PACKET as u32, COLLATION).serialize(buffer))?;
            channel = channel.replace(|stream| stream.encrypt(encryption))?;
        } else if access.tls.mode != TlsMode::Preferred {
            return Err(DriverError::NoClientSslFlagFromServer.into());
        }
    }
    let mut proof = Proof { password: access.password.reveal(), nonce, plugin };
    let first = proof.first(&channel)?;
    respond(&mut channel, access, flags, &proof, first)?;
    proof.give(&mut channel)?;
    let ends = if flags.contains(Flags::CLIENT_DEPRECATE_EOF) { Ends::LikeOk } else { Ends::Old };
    Ok((channel, Greeted { id, ends }))
}

/// The version a server greets with.
pub(super) fn version(channel: &mut Channel) -> Result<String, Error> {
    let packet = channel.next()?;
    if packet.body.first() == Some(&ERROR) {
        return Err(server_error(packet.body));
    }
    let version = guarded(|| {
        let greeting: HandshakePacket<'_> = ParseBuf(packet.body).parse(())?;
        io::Result::Ok(greeting.server_version_str().into_owned())
    })??;
    Ok(version)
}

fn greeting(packet: &Packet<'_>) -> io::Result<Greeting> {
    let greeting: HandshakePacket<'_> = ParseBuf(packet.body).parse(())?;
    if greeting.protocol_version() != 10 || !greeting.capabilities().contains(Flags::CLIENT_PROTOCOL_41) {
        return Err(not_understood("it greets by a protocol older than that of MySQL 4.1"));
    }
    // Other plugins of the server's are asked for by a switch, once it knows the account.
    let plugin = match greeting.auth_plugin() {
        Some(AuthPlugin::CachingSha2Password) => AuthPlugin::CachingSha2Password,
        _ => AuthPlugin::MysqlNativePassword,
    };
    Ok(Greeting {
        id: greeting.connection_id(),
        offered: greeting.capabilities(),
        nonce: greeting.nonce(),
        plugin,
    })
}

fn respond(
    channel: &mut Channel,
    access: &Access,
    flags: Flags,
    proof: &Proof<'_>,
    first: Vec<u8>,
) -> Result<(), Error> {
    let attributes: Option<HashMap<String, String>> =
        flags.contains(Flags::CLIENT_CONNECT_ATTRS).then(|| attributes(access));
    let plugin = flags.contains(Flags::CLIENT_PLUGIN_AUTH).then(|| proof.plugin.clone());
    let response = HandshakeResponse::new(
        Some(first),
        VERSION,
        Some(access.user.as_bytes()),
        access.schema.as_ref().map(|schema| schema.as_bytes()),
        plugin,
        flags,
        attributes,
        MAX_PACKET as u32,
    );
    channel.send(|buffer| response.serialize(buffer))?;
    Ok(())
}

/// The proof of who asks.
struct Proof<'a> {
    password: &'a str,
    nonce: Vec<u8>,
    plugin: AuthPlugin<'static>,
}

impl Proof<'_> {
    /// Answers the server until it says yes or no.
    fn give(&mut self, channel: &mut Channel) -> Result<(), Error> {
        loop {
            let packet = channel.next()?;
            let answer = match packet.body {
                [OK, ..] => return Ok(()),
                [ERROR, ..] => return Err(server_error(packet.body)),
                [END] => return Err(unknown_plugin(b"mysql_old_password")),
                [END, ..] => {
                    self.switch(packet.body)?;
                    Some(self.first(channel)?)
                }
                // The first servers with parsec left out the byte before.
                [MORE, rest @ ..] | rest @ [b'P', ..] => {
                    let rest = rest.to_vec();
                    self.next(&rest, channel)?
                }
                _ => return Err(broken().into()),
            };
            if let Some(answer) = answer {
                channel.send(|buffer| buffer.extend_from_slice(&answer))?;
            }
        }
    }

    fn switch(&mut self, body: &[u8]) -> Result<(), Error> {
        let request: AuthSwitchRequest<'_> = ParseBuf(body).parse(())?;
        self.nonce = request.plugin_data().to_vec();
        self.plugin = request.auth_plugin().into_owned();
        Ok(())
    }

    /// What is sent first for a plugin.
    fn first(&self, channel: &Channel) -> Result<Vec<u8>, Error> {
        match &self.plugin {
            AuthPlugin::MysqlNativePassword | AuthPlugin::CachingSha2Password | AuthPlugin::Ed25519 => {
                self.mixed()
            }
            // It tells first how the password was hashed.
            AuthPlugin::MariadbParsec { .. } => Ok(Vec::new()),
            AuthPlugin::MysqlClearPassword if channel.stream().is_encrypted() => Ok(self.clear()),
            AuthPlugin::Other(name) if **name == *SHA256 => Ok(self.first_of_sha256(channel)),
            other => Err(unknown_plugin(other.as_bytes())),
        }
    }

    fn first_of_sha256(&self, channel: &Channel) -> Vec<u8> {
        match self.password {
            "" => vec![0],
            _ if channel.stream().is_encrypted() => self.clear(),
            _ => vec![KEY_WANTED_OLD],
        }
    }

    /// The answer to what a plugin of the server says further, if it wants one.
    fn next(&mut self, said: &[u8], channel: &Channel) -> Result<Option<Vec<u8>>, Error> {
        match &mut self.plugin {
            AuthPlugin::CachingSha2Password if said == FOUND => Ok(None),
            AuthPlugin::CachingSha2Password if said == NEEDED && channel.stream().is_private() => {
                Ok(Some(self.clear()))
            }
            AuthPlugin::CachingSha2Password if said == NEEDED => Ok(Some(vec![KEY_WANTED])),
            AuthPlugin::CachingSha2Password => self.encrypted(said).map(Some),
            AuthPlugin::Other(name) if **name == *SHA256 => self.encrypted(said).map(Some),
            AuthPlugin::MariadbParsec { .. } => {
                self.plugin.read_add_data(said).ok_or_else(broken)?;
                self.mixed().map(Some)
            }
            _ => Err(broken().into()),
        }
    }

    /// The password mixed with the server's random text, as the plugin does it; nothing without a password.
    fn mixed(&self) -> Result<Vec<u8>, Error> {
        let data = guarded(|| self.plugin.gen_data(Some(self.password), &self.nonce))?;
        if data.is_none() && !self.password.is_empty() {
            return Err(broken().into());
        }
        Ok(data.map(|data| data.to_vec()).unwrap_or_default())
    }

    /// The password as it is.
    fn clear(&self) -> Vec<u8> {
        [self.password.as_bytes(), &[0]].concat()
    }

    /// The password under the server's public key.
    fn encrypted(&self, key: &[u8]) -> Result<Vec<u8>, Error> {
        let nonce = self.nonce.get(..NONCE).ok_or_else(broken)?;
        let mixed: Vec<u8> =
            self.clear().iter().zip(nonce.iter().cycle()).map(|(byte, with)| byte ^ with).collect();
        Ok(guarded(|| crypto::encrypt(&mixed, key))?)
    }
}

#[cold]
fn unknown_plugin(name: &[u8]) -> Error {
    DriverError::UnknownAuthPlugin { name: String::from_utf8_lossy(name).into_owned() }.into()
}

/// Runs code of the library, which panics on some of what a server can say; here that is an error.
fn guarded<T>(code: impl FnOnce() -> T) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(code))
        .map_err(|_panic| not_understood("the client library failed on what it said at the login"))
}
