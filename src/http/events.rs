//! `/api/v1/runs/{run}/events`: what happens in a run, as server-sent events.

use std::time::Duration;

use hyper::body::Bytes;
use hyper::header;
use hyper::{Response, StatusCode};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::answer::{self, Answer};
use super::body::Body;
use super::call::Call;
use super::problem::Problem;
use super::runs;
use super::server::{Phase, reached};
use crate::record::{Event, Outcome, RunId, RunRecord};
use crate::run::{Follow, Runner};

/// A comment so often keeps proxies from closing a quiet stream.
const COMMENT_EVERY: Duration = Duration::from_secs(15);
/// Parts that may wait for a slow reader; beyond, the stream waits, and events wait in the runner.
const WAITING: usize = 64;

pub(super) async fn get(call: Call) -> Result<Answer, Problem> {
    let id = runs::resolve(&call).await?;
    let last = call.header("last-event-id").and_then(|id| id.trim().parse::<u64>().ok()).unwrap_or(0);
    let runner = call.shared.services.runner.clone();
    let (sender, parts) = mpsc::channel(WAITING);
    match runner.follow(id) {
        Some(follow) => {
            let stream = Stream { runner, id, last, sender, phase: call.shared.phase.subscribe() };
            tokio::spawn(stream.run(follow));
        }
        None => {
            let run =
                call.read_store("reading a run", move |reader| runs::find(reader, &id.to_string())).await??;
            // The channel is new and empty, so this part has room.
            let _ = sender.try_send(part(1, &end_of(&run)));
        }
    }
    let mut answer = Response::new(Body::Parts(parts));
    *answer.status_mut() = StatusCode::OK;
    answer::set(&mut answer, header::CONTENT_TYPE, "text/event-stream");
    answer::set(&mut answer, header::CACHE_CONTROL, "no-store");
    Ok(answer)
}

/// The last event of a run whose events are forgotten, from its record.
fn end_of(run: &RunRecord) -> Event {
    let end = run.end.unwrap_or(run.start);
    Event::End {
        t: end.duration_since(run.start).as_secs_f64(),
        outcome: run.outcome.unwrap_or(Outcome::Aborted),
        finished: run.finished_cases,
        of: run.planned_cases,
        message: run.failure.as_ref().map(|failure| failure.message.clone()),
    }
}

/// One event as it goes over the wire.
fn part(number: u64, event: &Event) -> Bytes {
    let data = serde_json::to_value(event).unwrap_or_default();
    let name = data["event"].as_str().unwrap_or("note");
    format!("id: {number}\nevent: {name}\ndata: {data}\n\n").into()
}

/// One follower of one run.
struct Stream {
    runner: Runner,
    id: RunId,
    /// Number of the last event that was sent, or that the follower had before.
    last: u64,
    sender: mpsc::Sender<Bytes>,
    phase: watch::Receiver<Phase>,
}

/// Why a stream cannot go on from where it is.
enum Pause {
    /// The follower is gone, the run has ended, or the server ends.
    Over,
    /// Events came faster than they could be sent: they must be asked for again.
    Behind,
}

impl Stream {
    async fn run(mut self, first: Follow) {
        let mut follow = Some(first);
        while let Some(now) = follow {
            match self.pass_on(now).await {
                Pause::Over => return,
                Pause::Behind => follow = self.runner.follow(self.id),
            }
        }
    }

    async fn pass_on(&mut self, follow: Follow) -> Pause {
        for (number, event) in follow.past {
            if self.send(number, &event).await.is_err() {
                return Pause::Over;
            }
        }
        let Some(mut coming) = follow.coming else { return Pause::Over };
        let mut comments = tokio::time::interval(COMMENT_EVERY);
        comments.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let sent = tokio::select! {
                next = coming.recv() => match next {
                    Ok((number, event)) => self.send(number, &event).await,
                    Err(broadcast::error::RecvError::Lagged(_)) => return Pause::Behind,
                    Err(broadcast::error::RecvError::Closed) => return Pause::Over,
                },
                _ = comments.tick() => self.pass(Bytes::from_static(b": still here\n\n")).await,
                () = self.sender.closed() => return Pause::Over,
                () = reached(&mut self.phase, Phase::Finishing) => return Pause::Over,
            };
            if sent.is_err() {
                return Pause::Over;
            }
        }
    }

    /// Sends an event that the follower does not have yet.
    async fn send(&mut self, number: u64, event: &Event) -> Result<(), ()> {
        if number <= self.last {
            return Ok(());
        }
        self.last = number;
        self.pass(part(number, event)).await
    }

    /// Passes a part on, as long as there is somebody to take it.
    async fn pass(&mut self, part: Bytes) -> Result<(), ()> {
        tokio::select! {
            sent = self.sender.send(part) => sent.map_err(drop),
            () = reached(&mut self.phase, Phase::Finishing) => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_named_and_numbered_and_one_line_of_data() {
        let event = Event::Note { t: 1.5, text: "two\nlines".to_owned() };
        let text = String::from_utf8(part(7, &event).to_vec()).unwrap();
        assert_eq!(
            text,
            "id: 7\nevent: note\ndata: {\"event\":\"note\",\"t\":1.5,\"text\":\"two\\nlines\"}\n\n"
        );
    }
}
