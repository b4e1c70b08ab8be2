//! Whatever a server says, a connection neither panics nor waits for ever.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;

use super::stream::Socket;
use super::*;
use crate::target::Secret;

/// Longer than any of it takes.
const LIMIT: Duration = Duration::from_secs(60);
/// Less than a socket takes without anyone who reads.
const MOST: usize = 40_000;

/// A channel whose peer has said all it will, and listens.
fn after(said: &[u8]) -> (Channel, UnixStream) {
    let (near, mut far) = UnixStream::pair().unwrap();
    far.write_all(said).unwrap();
    far.shutdown(Shutdown::Write).unwrap();
    (Channel::new(Stream::Plain(Socket::from(near)), LIMIT, Instant::now()).unwrap(), far)
}

/// Payloads as packets of one exchange.
fn packets(first: u8, payloads: &[Vec<u8>]) -> Vec<u8> {
    let numbers = (0..=255).cycle().skip(usize::from(first));
    payloads
        .iter()
        .zip(numbers)
        .flat_map(|(payload, number): (_, u8)| {
            let [low, middle, high, ..] = payload.len().to_le_bytes();
            [&[low, middle, high, number], &payload[..]].concat()
        })
        .collect()
}

fn ask(said: &[u8], ends: Ends) -> Result<Answer, Error> {
    let (mut channel, _far) = after(said);
    channel.command(|payload| command(QUERY, "SELECT", payload))?;
    read_answer(&mut channel, ends)
}

/// Payloads that begin like those of the protocol.
fn payloads() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let first = prop_oneof![Just(0_u8), Just(1), Just(2), Just(0xfb), Just(0xfe), Just(0xff), any::<u8>()];
    let payload = (first, prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(first, mut rest)| {
        rest.insert(0, first);
        rest
    });
    prop::collection::vec(payload, 0..8)
}

proptest! {
    #[test]
    fn any_bytes_are_an_answer_or_an_error(said in prop::collection::vec(any::<u8>(), 0..MOST), old: bool) {
        let ends = if old { Ends::Old } else { Ends::LikeOk };
        let _ = ask(&said, ends);
    }

    #[test]
    fn any_packets_are_an_answer_or_an_error(said in payloads(), old: bool) {
        let ends = if old { Ends::Old } else { Ends::LikeOk };
        let _ = ask(&packets(1, &said), ends);
        let (mut channel, _far) = after(&packets(1, &said));
        channel.command(|payload| command(PREPARE, "SELECT ?", payload)).unwrap();
        let _ = read_prepared(&mut channel, ends);
    }

    #[test]
    fn any_login_is_one_or_an_error(greeting in prop::collection::vec(any::<u8>(), 0..120), said in payloads()) {
        let access = Access { password: Secret::new("x"), ..Access::default() };
        let mut proper = b"\x0a9.7\0\x07\0\0\0saltsalt\0\x00\x82\x2d\x02\0\x08\0\x15\0\0\0\0\0\0\0\0\0\0".to_vec();
        proper.extend(b"saltsaltsalt\0caching_sha2_password\0");
        for greeting in [greeting, proper] {
            let (channel, _far) = after(&[packets(0, &[greeting]), packets(2, &said)].concat());
            let _ = log_in(channel, &access, None);
        }
    }
}

fn answered(said: &[u8]) -> String {
    match ask(said, Ends::LikeOk) {
        Ok(answer) => format!("{answer:?}"),
        Err(error) => SqlError::in_use(&error).message,
    }
}

#[test]
fn all_results_are_read_and_the_first_one_counts() {
    let two = [vec![0, 3, 0, 8, 0, 0, 0], vec![0, 9, 0, 0, 0, 0, 0]];
    assert_eq!(answered(&packets(1, &two)), "Changed(3)");
    assert_eq!(answered(&packets(1, &[vec![0, 0, 0, 0, 0, 0, 0]])), "Nothing");
    let end = vec![0xfe, 0, 0, 2, 0, 0, 0];
    let rows = [vec![1], vec![3, b'd'], vec![0, 0, 1], vec![0, 0, 1], end.clone()];
    assert_eq!(answered(&packets(1, &rows)), "Rows(2)");
    let none = [vec![1], vec![3, b'd'], end];
    assert_eq!(answered(&packets(1, &none)), "Rows(0)");
}

#[test]
fn rows_end_as_of_old_too() {
    let end = vec![0xfe, 0, 0, 2, 0];
    let said = packets(1, &[vec![1], vec![3, b'd'], end.clone(), vec![0, 0, 1], end]);
    assert_eq!(ask(&said, Ends::Old).unwrap(), Answer::Rows(1));
}

#[test]
fn an_error_among_the_rows_is_the_answer() {
    let error = b"\xff\xb1\x07#70100killed".to_vec();
    assert_eq!(answered(&packets(1, &[vec![1], vec![3], vec![0, 0, 1], error])), "1969: killed");
}

#[test]
fn a_servers_goodbye_is_read_whatever_its_number() {
    assert_eq!(answered(&packets(0, &[b"\xff\xbf\x0f#HY000idle".to_vec()])), "4031: idle");
}

#[test]
fn what_breaks_the_protocol_is_named() {
    let file = packets(1, &[b"\xfb/etc/passwd".to_vec()]);
    assert!(answered(&file).ends_with("it asks for a file of this host"), "{}", answered(&file));
    let order = packets(3, &[vec![0, 0, 0, 0, 0, 0, 0]]);
    assert!(answered(&order).ends_with("its packets are out of order"), "{}", answered(&order));
    let later = [packets(1, &[vec![1]]), packets(5, &[vec![3, b'd']])].concat();
    assert!(answered(&later).ends_with("its packets are out of order"), "{}", answered(&later));
    let more = [packets(1, &[vec![0, 0, 0, 0, 0, 0, 0]]), packets(1, &[vec![0; 7]])].concat();
    let (mut channel, _far) = after(&more);
    channel.command(|payload| payload.push(QUERY)).unwrap();
    assert_eq!(read_answer(&mut channel, Ends::LikeOk).unwrap(), Answer::Nothing);
    let error = channel.command(|payload| payload.push(QUERY)).unwrap_err();
    assert!(error.to_string().ends_with("more came than was asked for"), "{error}");
}

#[test]
fn tls_does_not_begin_over_what_was_sent_in_the_clear() {
    let (mut channel, _far) = after(&packets(0, &[vec![1], vec![2]]));
    channel.next().unwrap();
    assert!(channel.replace(Ok).is_err());
}

#[test]
fn a_statement_of_more_than_a_packet_goes_out_in_parts() {
    for size in [0xff_ffff - 1, 0xff_ffff, 0xff_ffff + 5] {
        let (near, mut far) = UnixStream::pair().unwrap();
        let reader = thread::spawn(move || {
            let mut lengths = Vec::new();
            loop {
                let mut header = [0; 4];
                far.read_exact(&mut header).unwrap();
                let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
                far.read_exact(&mut vec![0; length as usize]).unwrap();
                lengths.push(length as usize);
                if length < 0xff_ffff {
                    return lengths;
                }
            }
        });
        let mut channel = Channel::new(Stream::Plain(Socket::from(near)), LIMIT, Instant::now()).unwrap();
        channel.command(|payload| payload.resize(payload.len() + size, 7)).unwrap();
        let lengths = reader.join().unwrap();
        assert_eq!(lengths.iter().sum::<usize>(), size);
        assert_eq!(lengths.len(), 1 + usize::from(size >= 0xff_ffff));
    }
}

#[test]
fn a_peer_that_trickles_does_not_stretch_the_limit() {
    let (near, mut far) = UnixStream::pair().unwrap();
    let trickle = thread::spawn(move || {
        // Rows without an end, each in time for a limit that counts from the last one.
        let mut said = packets(1, &[vec![1], vec![3]]);
        let mut number = 3_u8;
        while far.write_all(&said).is_ok() {
            thread::sleep(Duration::from_millis(20));
            said = packets(number, &[vec![0, 0, 1]]);
            number = number.wrapping_add(1);
        }
    });
    let limit = Duration::from_millis(200);
    let mut channel = Channel::new(Stream::Plain(Socket::from(near)), limit, Instant::now()).unwrap();
    let begun = Instant::now();
    channel.command(|payload| payload.push(QUERY)).unwrap();
    let error = read_answer(&mut channel, Ends::LikeOk).unwrap_err();
    assert!(timed_out(&error), "{error}");
    assert!(begun.elapsed() >= limit);
    drop(channel);
    trickle.join().unwrap();
}

#[test]
fn a_connection_may_rest_longer_than_its_limit() {
    let (near, mut far) = UnixStream::pair().unwrap();
    let limit = Duration::from_millis(20);
    let mut channel = Channel::new(Stream::Plain(Socket::from(near)), limit, Instant::now()).unwrap();
    for _ in 0..2 {
        channel.command(|payload| payload.push(QUERY)).unwrap();
        far.write_all(&packets(1, &[vec![0, 0, 0, 0, 0, 0, 0]])).unwrap();
        assert_eq!(read_answer(&mut channel, Ends::LikeOk).unwrap(), Answer::Nothing);
        channel.end();
        // Nothing is waited for: this is the rest, longer than the first look at a new connection can take.
        thread::sleep(Duration::from_millis(250));
    }
}

#[test]
fn a_peer_that_reads_nothing_does_not_stretch_the_limit_either() {
    let (near, _far) = UnixStream::pair().unwrap();
    let limit = Duration::from_millis(50);
    let mut channel = Channel::new(Stream::Plain(Socket::from(near)), limit, Instant::now()).unwrap();
    let begun = Instant::now();
    let error = channel.command(|payload| payload.resize(10 << 20, 7)).unwrap_err();
    assert!(timed_out(&error.into()));
    assert!(begun.elapsed() >= limit);
}

#[test]
fn without_a_limit_an_answer_is_waited_for() {
    let (near, mut far) = UnixStream::pair().unwrap();
    let mut channel =
        Channel::new(Stream::Plain(Socket::from(near)), Duration::ZERO, Instant::now()).unwrap();
    let late = thread::spawn(move || {
        thread::sleep(Duration::from_millis(250));
        far.write_all(&packets(1, &[vec![0, 0, 0, 0, 0, 0, 0]])).unwrap();
        far
    });
    channel.command(|payload| payload.push(QUERY)).unwrap();
    assert_eq!(read_answer(&mut channel, Ends::LikeOk).unwrap(), Answer::Nothing);
    late.join().unwrap();
}
