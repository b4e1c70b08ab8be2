//! Questions to filesystems, which may hang: asked in threads of their own, and not waited for any longer than this.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// A filesystem that has not answered after this hangs, as for the watch over filesystems.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The questions that are under way, and since when.
static ASKED: Mutex<Vec<(PathBuf, Instant)>> = Mutex::new(Vec::new());

/// What a question about a path gives; `None` when its filesystem does not answer in time. As long as it does not, it
/// is not asked again, so that the threads that hang with it are few.
pub(super) fn in_time<T: Send + 'static>(
    path: &Path,
    ask: impl FnOnce(&Path) -> T + Send + 'static,
) -> Option<T> {
    let now = Instant::now();
    let question = (path.to_owned(), now);
    {
        let mut asked = asked();
        if asked.iter().any(|(other, since)| other == path && now.duration_since(*since) > PATIENCE) {
            return None;
        }
        asked.push(question.clone());
    }
    let (sender, answer) = mpsc::channel();
    let asker = std::thread::Builder::new().name("path".to_owned()).spawn(move || {
        let answer = ask(&question.0);
        forget(&question);
        // Whoever asked may have given up.
        let _ = sender.send(answer);
    });
    match asker {
        Ok(_) => answer.recv_timeout(PATIENCE).ok(),
        Err(error) => {
            log::error!("start a thread that asks about {}: {error}", path.display());
            forget(&(path.to_owned(), now));
            None
        }
    }
}

/// What there is to say of a path whose filesystem does not answer.
pub(super) fn silent(path: &Path) -> (String, String) {
    let measured =
        format!("the filesystem of {} has not answered for {} s", path.display(), PATIENCE.as_secs());
    (measured, "see whether its mount hangs; it is asked again once it has answered".to_owned())
}

fn forget(question: &(PathBuf, Instant)) {
    let mut asked = asked();
    if let Some(place) = asked.iter().position(|other| other == question) {
        asked.swap_remove(place);
    }
}

/// Nothing is left half done under this lock, so a panic elsewhere does not spoil what it guards.
fn asked() -> MutexGuard<'static, Vec<(PathBuf, Instant)>> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_answer_is_waited_for_once_and_asked_again_when_it_did() {
        let path = Path::new("/in/time/hung");
        let (go_on, gate) = mpsc::channel::<()>();
        let hung = in_time(path, move |_| gate.recv());
        assert!(hung.is_none());
        let began = Instant::now();
        assert_eq!(in_time(path, |_| 1), None, "asked again while it hangs");
        assert!(began.elapsed() < PATIENCE);
        assert_eq!(in_time(Path::new("/in/time/other"), |_| 2), Some(2));
        go_on.send(()).unwrap();
        while asked().iter().any(|(other, _)| other == path) {
            std::thread::yield_now();
        }
        assert_eq!(in_time(path, |_| 3), Some(3));
    }
}
