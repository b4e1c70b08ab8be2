//! Logins by password: what is good is known at once, what is wrong is slow and limited.
//!
//! A hash of bcrypt takes a CPU for a tenth of a second by design, so it is computed away from the thread that
//! serves and one at a time. A good password is remembered as a digest under a key of this process, and is not
//! hashed again; a scraper that is known is let in at once whatever others try. A wrong one is answered after a
//! second, the same for a user that exists and for one that does not, and each address has few of them.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::sync::Semaphore;
use tokio_rustls::rustls::crypto::hash::Hash;
use tokio_rustls::rustls::crypto::ring::default_provider;

use super::basic::Credentials;

/// What a wrong password costs whoever tries it.
pub(super) const PENALTY: Duration = Duration::from_secs(1);
/// Wrong passwords that an address has before it must wait.
const FAILURES: f64 = 10.0;
/// Time after which an address has one more.
const FORGIVEN_AFTER: Duration = Duration::from_secs(6);
/// Logins of one address that are under way at once.
const AT_ONCE: u32 = 4;
/// Logins of all addresses that are under way at once.
const AT_ONCE_IN_ALL: u32 = 64;
/// Addresses that are remembered.
const ADDRESSES: usize = 4096;
/// What the password of a user that does not exist is compared with, when there is no user at all.
const NO_HASH: &str = "$2b$10$KdHn0wzGqOZ1rXbVfYtA8uCcwdTvPQzZRi0.QtgjBK3DGca/MLayq";

/// Lets users in.
pub(super) struct Doorkeeper {
    /// The key of the digests.
    key: [u8; 32],
    hash: &'static dyn Hash,
    /// The good password of each user as a digest, with the hash it was compared with.
    known: Mutex<BTreeMap<String, (String, Vec<u8>)>>,
    addresses: Mutex<HashMap<IpAddr, Tries>>,
    hashing: Arc<Semaphore>,
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denied {
    /// Name or password is wrong.
    Wrong,
    /// Too many were wrong, or are being looked at; seconds until another try makes sense.
    Later(u64),
}

/// What an address has tried.
#[derive(Debug, Clone, Copy)]
struct Tries {
    left: f64,
    at: Instant,
    under_way: u32,
}

/// One login under way; it is over when this is dropped.
struct UnderWay<'a> {
    keeper: &'a Doorkeeper,
    address: IpAddr,
}

impl Doorkeeper {
    pub(super) fn new() -> anyhow::Result<Doorkeeper> {
        let (mut key, provider) = ([0; 32], default_provider());
        let random = provider.secure_random.fill(&mut key);
        random.ok().context("the system gives no random numbers for the key of known logins")?;
        let suite = provider.cipher_suites.iter().find_map(|suite| suite.tls13());
        Ok(Doorkeeper {
            key,
            hash: suite.context("the TLS library has no hash for known logins")?.common.hash_provider,
            known: Mutex::default(),
            addresses: Mutex::default(),
            hashing: Arc::new(Semaphore::new(1)),
        })
    }

    /// Whether a user's password is right.
    pub(super) async fn login(
        &self,
        users: &BTreeMap<String, String>,
        credentials: &Credentials,
        address: IpAddr,
    ) -> Result<(), Denied> {
        let began = Instant::now();
        let hash = users.get(&credentials.user);
        let digest = self.digest(credentials);
        if hash.is_some_and(|hash| self.is_known(&credentials.user, hash, &digest)) {
            return Ok(());
        }
        let under_way = self.begin(address, began)?;
        // As expensive as that of any user.
        let decoy = users.values().max_by_key(|hash| hash.get(4..6)).map_or(NO_HASH, String::as_str);
        let compared = hash.map_or(decoy, String::as_str).to_owned();
        let is_right = self.compare(credentials.password.clone(), compared).await;
        if let (true, Some(hash)) = (is_right, hash) {
            lock(&self.known).insert(credentials.user.clone(), (hash.clone(), digest));
            return Ok(());
        }
        self.failed(address);
        tokio::time::sleep(PENALTY.saturating_sub(began.elapsed())).await;
        drop(under_way);
        Err(Denied::Wrong)
    }

    /// Computes away from this thread, one at a time.
    async fn compare(&self, password: Vec<u8>, hash: String) -> bool {
        let Ok(turn) = Arc::clone(&self.hashing).acquire_owned().await else { return false };
        let compared = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            bcrypt::verify(password, &hash)
        });
        matches!(compared.await, Ok(Ok(true)))
    }

    /// A digest that says nothing without the key: of key, length of the name, name and password.
    fn digest(&self, credentials: &Credentials) -> Vec<u8> {
        let mut text = self.key.to_vec();
        text.extend((credentials.user.len() as u64).to_be_bytes());
        text.extend(credentials.user.as_bytes());
        text.extend(&credentials.password);
        self.hash.hash(&text).as_ref().to_vec()
    }

    fn is_known(&self, user: &str, hash: &str, digest: &[u8]) -> bool {
        let known = lock(&self.known);
        let Some((of, good)) = known.get(user) else { return false };
        of == hash && are_equal(good, digest)
    }

    /// Begins a login, unless its address has had too many.
    fn begin(&self, address: IpAddr, now: Instant) -> Result<UnderWay<'_>, Denied> {
        let address = network_of(address);
        let mut addresses = lock(&self.addresses);
        if addresses.values().map(|tries| tries.under_way).sum::<u32>() >= AT_ONCE_IN_ALL {
            return Err(Denied::Later(1));
        }
        if addresses.len() >= ADDRESSES {
            addresses.retain(|_, tries| tries.under_way > 0 || tries.at_time(now).left < FAILURES);
        }
        if addresses.len() >= ADDRESSES {
            let oldest =
                addresses.iter().filter(|(_, tries)| tries.under_way == 0).min_by_key(|(_, tries)| tries.at);
            let oldest = oldest.map(|(address, _)| *address);
            oldest.and_then(|oldest| addresses.remove(&oldest));
        }
        let fresh = Tries { left: FAILURES, at: now, under_way: 0 };
        let tries = addresses.entry(address).or_insert(fresh);
        *tries = tries.at_time(now);
        if tries.left < 1.0 {
            let wait = (1.0 - tries.left) * FORGIVEN_AFTER.as_secs_f64();
            return Err(Denied::Later(wait.ceil().max(1.0) as u64));
        }
        if tries.under_way >= AT_ONCE {
            return Err(Denied::Later(1));
        }
        tries.under_way += 1;
        Ok(UnderWay { keeper: self, address })
    }

    fn failed(&self, address: IpAddr) {
        if let Some(tries) = lock(&self.addresses).get_mut(&network_of(address)) {
            *tries = tries.at_time(Instant::now());
            tries.left = (tries.left - 1.0).max(0.0);
        }
    }
}

impl Tries {
    /// The same, with what was forgiven until an instant.
    fn at_time(self, now: Instant) -> Tries {
        let forgiven = now.saturating_duration_since(self.at).as_secs_f64() / FORGIVEN_AFTER.as_secs_f64();
        Tries { left: (self.left + forgiven).min(FAILURES), at: now.max(self.at), under_way: self.under_way }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(tries) = lock(&self.keeper.addresses).get_mut(&self.address) {
            tries.under_way = tries.under_way.saturating_sub(1);
        }
    }
}

/// Nothing is left half done under these locks, so a panic elsewhere does not spoil what they guard.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A host has as many addresses of version 6 as it likes, so they are counted by network.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => {
            let [a, b, c, d, ..] = six.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        four @ IpAddr::V4(_) => four,
    }
}

/// Compares all of both, however early they differ.
fn are_equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Costs as little as bcrypt can.
    fn users() -> BTreeMap<String, String> {
        BTreeMap::from([("prometheus".to_owned(), bcrypt::hash("right", 4).unwrap())])
    }

    fn credentials(user: &str, password: &str) -> Credentials {
        Credentials { user: user.to_owned(), password: password.as_bytes().to_vec() }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    async fn login(keeper: &Doorkeeper, user: &str, password: &str, from: &str) -> Result<(), Denied> {
        keeper.login(&users_of_all(), &credentials(user, password), address(from)).await
    }

    fn users_of_all() -> BTreeMap<String, String> {
        static USERS: std::sync::OnceLock<BTreeMap<String, String>> = std::sync::OnceLock::new();
        USERS.get_or_init(users).clone()
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_has_few_wrong_passwords_and_gets_them_back() {
        let keeper = Doorkeeper::new().unwrap();
        for (user, _) in [("prometheus", ()), ("nobody", ())].iter().cycle().take(10) {
            assert_eq!(login(&keeper, user, "wrong", "192.0.2.1").await, Err(Denied::Wrong));
        }
        let refused = login(&keeper, "prometheus", "right", "192.0.2.1").await;
        assert!(matches!(refused, Err(Denied::Later(1..=6))), "{refused:?}");
        assert_eq!(login(&keeper, "prometheus", "right", "192.0.2.2").await, Ok(()));
        assert_eq!(login(&keeper, "prometheus", "right", "192.0.2.1").await, Ok(()), "it is known by now");
        let refused = login(&keeper, "prometheus", "wrong", "192.0.2.1").await;
        assert!(matches!(refused, Err(Denied::Later(_))), "a wrong one is not");
        let tries = Tries { left: 0.0, at: Instant::now(), under_way: 0 };
        assert!(tries.at_time(tries.at + FORGIVEN_AFTER).left >= 1.0);
        assert!(tries.at_time(tries.at + FORGIVEN_AFTER * 100).left <= FAILURES);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wrong_password_takes_a_second_whether_the_user_exists_or_not() {
        let keeper = Doorkeeper::new().unwrap();
        for user in ["prometheus", "nobody"] {
            let began = tokio::time::Instant::now();
            assert_eq!(login(&keeper, user, "wrong", "192.0.2.1").await, Err(Denied::Wrong));
            assert!(began.elapsed() >= PENALTY - Duration::from_millis(500), "{user}");
        }
    }

    #[tokio::test]
    async fn what_is_known_is_bound_to_the_hash_it_was_compared_with() {
        let keeper = Doorkeeper::new().unwrap();
        assert_eq!(login(&keeper, "prometheus", "right", "192.0.2.1").await, Ok(()));
        let changed = BTreeMap::from([("prometheus".to_owned(), bcrypt::hash("new", 4).unwrap())]);
        let old = keeper.login(&changed, &credentials("prometheus", "right"), address("192.0.2.1")).await;
        assert_eq!(old, Err(Denied::Wrong));
        let gone =
            keeper.login(&BTreeMap::new(), &credentials("prometheus", "right"), address("192.0.2.1")).await;
        assert_eq!(gone, Err(Denied::Wrong));
        let kept = format!("{:?}", lock(&keeper.known));
        assert!(!kept.contains("right") && !kept.contains("114, 105, 103, 104, 116"), "{kept}");
    }

    #[test]
    fn what_stands_for_no_user_is_a_hash() {
        assert_eq!(bcrypt::verify("x", NO_HASH).ok(), Some(false));
    }

    #[test]
    fn few_logins_of_an_address_are_under_way_at_once_and_few_of_all() {
        let (keeper, now) = (Doorkeeper::new().unwrap(), Instant::now());
        let of_one: Vec<_> = (0..AT_ONCE).map(|_| keeper.begin(address("192.0.2.1"), now)).collect();
        assert!(of_one.iter().all(Result::is_ok));
        assert!(keeper.begin(address("192.0.2.1"), now).is_err());
        assert!(keeper.begin(address("::ffff:192.0.2.1"), now).is_err());
        let of_others: Vec<_> =
            (0..200).map(|host| keeper.begin(address(&format!("192.0.3.{host}")), now)).collect();
        assert_eq!(
            of_others.iter().filter(|begun| begun.is_ok()).count(),
            (AT_ONCE_IN_ALL - AT_ONCE) as usize
        );
        drop((of_one, of_others));
        assert!(keeper.begin(address("192.0.2.1"), now).is_ok());
    }

    #[test]
    fn no_more_addresses_are_remembered_than_fit() {
        let (keeper, now) = (Doorkeeper::new().unwrap(), Instant::now());
        for host in 0..2 * ADDRESSES as u32 {
            let from = IpAddr::from(std::net::Ipv4Addr::from_bits(host));
            drop(keeper.begin(from, now));
            keeper.failed(from);
        }
        assert!(lock(&keeper.addresses).len() <= ADDRESSES);
        assert_eq!(network_of(address("2001:db8::1")), network_of(address("2001:db8::2")));
    }
}
