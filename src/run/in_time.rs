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
    let question = Question::about(path)?;
    let (sender, answer) = mpsc::channel();
    let asker = std::thread::Builder::new().name("path".to_owned()).spawn(move || {
        let answer = ask(&question.path);
        drop(question);
        // Whoever asked may have given up.
        let _ = sender.send(answer);
    });
    if let Err(error) = asker {
        log::error!("start a thread that asks about {}: {error}", path.display());
        return None;
    }
    answer.recv_timeout(PATIENCE).ok()
}

/// A question that is under way until this is dropped, however asking ends.
struct Question {
    path: PathBuf,
    since: Instant,
}

impl Question {
    /// `None` while another one about the path hangs.
    fn about(path: &Path) -> Option<Question> {
        let (mut asked, since) = (asked(), Instant::now());
        if asked.iter().any(|(other, begun)| other == path && since.duration_since(*begun) > PATIENCE) {
            return None;
        }
        asked.push((path.to_owned(), since));
        Some(Question { path: path.to_owned(), since })
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let mut asked = asked();
        let place = asked.iter().position(|(path, since)| *path == self.path && *since == self.since);
        place.into_iter().for_each(|place| {
            asked.swap_remove(place);
        });
    }
}

/// What there is to say of a path whose filesystem does not answer.
pub(super) fn silent(path: &Path) -> (String, String) {
    let measured =
        format!("the filesystem of {} has not answered for {} s", path.display(), PATIENCE.as_secs());
    (measured, "see whether its mount hangs; it is asked again once it has answered".to_owned())
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

    #[test]
    fn a_question_that_panics_is_over() {
        let path = Path::new("/in/time/panics");
        assert_eq!(in_time(path, |_| -> u8 { panic!("as asked") }), None);
        assert!(asked().iter().all(|(other, _)| other != path));
    }
}
