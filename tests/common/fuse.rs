//! A filesystem of this process (fuse(4)) with one empty directory, which stops answering when it is told to.
//!
//! It is mounted by a command of its own in a mount namespace, so that no other process can hang with it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use nix::errno::Errno;
use nix::unistd::Uid;

/// The kernel gives no request to a smaller buffer (`FUSE_MIN_READ_BUFFER`), nor to one without room for a write.
const BUFFER: usize = 1 << 20;
/// The mode of a directory that everybody may use.
const DIRECTORY: u32 = 0o40_777;

/// Whether requests wait.
type Gate = Arc<(Mutex<bool>, Condvar)>;

/// A filesystem that can hang.
pub(crate) struct Fuse {
    device: File,
    hung: Gate,
}

impl Fuse {
    /// Begins to answer; `None`, and a loud skip, where the kernel or its user does not let it.
    pub(crate) fn start() -> Option<Fuse> {
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse");
        let Some(device) = device.ok().filter(|_| Uid::effective().is_root()) else {
            super::skip("fuse");
            return None;
        };
        let (answering, hung) = (device.try_clone().unwrap(), Gate::default());
        let fuse = Fuse { device, hung: Arc::clone(&hung) };
        thread::spawn(move || answer_all(answering, &hung));
        Some(fuse)
    }

    /// The command with the filesystem mounted on a directory, for it and what it starts alone.
    pub(crate) fn mounted(&self, directory: &Path, command: &Command) -> Command {
        let options = format!("fd=0,rootmode={DIRECTORY:o},user_id=0,group_id=0,allow_other");
        let script = "mount -i -t fuse -o \"$0\" hangs \"$1\" && shift && exec \"$@\" </dev/null";
        let mut inside = Command::new("unshare");
        inside.args(["--mount", "--propagation", "private", "sh", "-c", script, &options]);
        inside.arg(directory).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        inside.stdin(Stdio::from(self.device.try_clone().unwrap()));
        inside
    }

    /// No request is answered while what is returned lives. It must end before whoever may hang is waited for.
    pub(crate) fn hang(&self) -> Hung {
        *self.hung.0.lock().unwrap() = true;
        Hung(Arc::clone(&self.hung))
    }
}

/// Requests wait while it lives.
#[must_use]
pub(crate) struct Hung(Gate);

impl Drop for Hung {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap() = false;
        self.0.1.notify_all();
    }
}

/// Answers one request after the other until nothing is mounted any more.
fn answer_all(mut device: File, (hung, changed): &(Mutex<bool>, Condvar)) {
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = match device.read(&mut buffer) {
            Ok(length) => length,
            // Not mounted yet; then taken back before it was read, or interrupted.
            Err(error) => match Errno::from_raw(error.raw_os_error().unwrap()) {
                Errno::EPERM | Errno::ENOENT | Errno::EINTR => {
                    thread::yield_now();
                    continue;
                }
                _ => return,
            },
        };
        let request = &buffer[..length];
        let waiting = changed.wait_while(hung.lock().unwrap(), |hung| *hung).unwrap();
        drop(waiting);
        if let Some(answer) = answer(request) {
            // The one who asked may be gone.
            let _ = device.write(&answer);
        }
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The answer to a request (`struct fuse_in_header`: length, kind, number), when it is one that has an answer
/// (`struct fuse_out_header`: length, error, number).
fn answer(request: &[u8]) -> Option<Vec<u8>> {
    let (error, body) = match number(request, 4) {
        // FORGET, INTERRUPT, BATCH_FORGET.
        2 | 36 | 42 => return None,
        // LOOKUP: nothing is in the directory.
        1 => (-(Errno::ENOENT as i32), Vec::new()),
        // GETATTR: no time to keep it, then number, size, blocks, times, mode, links, owners, device, size of a block.
        3 => (0, packed(&[0, 0, 1, 0, 0, 0, 0, 0], &[0, 0, 0, DIRECTORY, 2, 0, 0, 0, 4096, 0])),
        // STATFS: a TiB in blocks of 4 KiB, all of them free.
        17 => (
            0,
            packed(&[1 << 28, 1 << 28, 1 << 28, 1 << 20, 1 << 20], &[4096, 255, 4096, 0, 0, 0, 0, 0, 0, 0]),
        ),
        // INIT: the version of the protocol, no feature beyond it, the most that is written at once, the grain of times.
        26 => (0, packed(&[], &[7, 31, 0, 0, 0, 4096, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        // OPENDIR, READDIR, RELEASEDIR, ACCESS, READDIRPLUS.
        27 => (0, vec![0; 16]),
        28 | 29 | 34 | 44 => (0, Vec::new()),
        _ => (-(Errno::ENOSYS as i32), Vec::new()),
    };
    let length = u32::try_from(16 + body.len()).unwrap();
    let unique = &request[8..16];
    Some([&length.to_ne_bytes()[..], &error.to_ne_bytes(), unique, &body].concat())
}

fn packed(long: &[u64], short: &[u32]) -> Vec<u8> {
    let long = long.iter().flat_map(|number| number.to_ne_bytes());
    long.chain(short.iter().flat_map(|number| number.to_ne_bytes())).collect()
}
