//! What a request is answered when it is not done: `application/problem+json` (RFC 9457).

use hyper::StatusCode;
use hyper::header::{self, HeaderName};
use serde_json::{Map, Value, json};

use super::answer::{self, Answer};

/// The kinds of problem; each has a type and a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Blocked,
    RunActive,
    RunFinished,
    UnknownSuite,
    UnknownRun,
    Parameters,
    Configuration,
    IdempotencyMismatch,
    Role,
    TlsRequired,
    Authentication,
    Limit,
    TooLarge,
    Timeout,
    Draining,
    Internal,
    NotFound,
    Method,
    MediaType,
    Syntax,
}

impl Kind {
    /// Its type's last word and its status; a problem without a type of its own says no more than its status.
    const fn facts(self) -> (Option<&'static str>, StatusCode) {
        match self {
            Kind::Blocked => (Some("blocked"), StatusCode::LOCKED),
            Kind::RunActive => (Some("run-active"), StatusCode::CONFLICT),
            Kind::RunFinished => (Some("run-finished"), StatusCode::CONFLICT),
            Kind::UnknownSuite => (Some("unknown-suite"), StatusCode::UNPROCESSABLE_ENTITY),
            Kind::UnknownRun => (Some("unknown-run"), StatusCode::NOT_FOUND),
            Kind::Parameters => (Some("parameters"), StatusCode::UNPROCESSABLE_ENTITY),
            Kind::Configuration => (Some("configuration"), StatusCode::UNPROCESSABLE_ENTITY),
            Kind::IdempotencyMismatch => (Some("idempotency-mismatch"), StatusCode::UNPROCESSABLE_ENTITY),
            Kind::Role => (Some("role"), StatusCode::FORBIDDEN),
            Kind::TlsRequired => (Some("tls-required"), StatusCode::FORBIDDEN),
            Kind::Authentication => (Some("authentication"), StatusCode::UNAUTHORIZED),
            Kind::Limit => (Some("limit"), StatusCode::SERVICE_UNAVAILABLE),
            Kind::TooLarge => (Some("too-large"), StatusCode::PAYLOAD_TOO_LARGE),
            Kind::Timeout => (Some("timeout"), StatusCode::REQUEST_TIMEOUT),
            Kind::Draining => (Some("draining"), StatusCode::SERVICE_UNAVAILABLE),
            Kind::Internal => (Some("internal"), StatusCode::INTERNAL_SERVER_ERROR),
            Kind::NotFound => (None, StatusCode::NOT_FOUND),
            Kind::Method => (None, StatusCode::METHOD_NOT_ALLOWED),
            Kind::MediaType => (None, StatusCode::UNSUPPORTED_MEDIA_TYPE),
            Kind::Syntax => (None, StatusCode::BAD_REQUEST),
        }
    }
}

/// One answer that says no.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    members: Map<String, Value>,
    headers: Vec<(HeaderName, String)>,
}

impl Problem {
    pub(super) fn new(kind: Kind, title: impl Into<String>, detail: impl Into<String>) -> Problem {
        let (word, status) = kind.facts();
        let kind = word.map_or_else(|| "about:blank".to_owned(), |word| format!("urn:benchd:problem:{word}"));
        let mut members = Map::new();
        members.insert("type".to_owned(), kind.into());
        members.insert("title".to_owned(), title.into().into());
        members.insert("status".to_owned(), status.as_u16().into());
        members.insert("detail".to_owned(), detail.into().into());
        Problem { status, members, headers: Vec::new() }
    }

    /// What went wrong inside: the reason goes to the journal, not to whoever asked.
    pub(super) fn internal(what: &str, error: &anyhow::Error) -> Problem {
        let reference = uuid::Uuid::new_v4().simple().to_string();
        log::error!("{what}: {error:#} (reference {reference})");
        let detail =
            format!("{what} went wrong inside benchd; the journal says why under reference {reference}");
        Problem::new(Kind::Internal, "internal error", detail)
            .advice(format!("journalctl -u benchd -g {reference}"))
    }

    /// Mistakes in what was sent, each with its place.
    pub(super) fn mistakes(kind: Kind, title: &str, mistakes: &[Mistake]) -> Problem {
        let each: Vec<String> =
            mistakes.iter().map(|mistake| format!("{}: {}", mistake.pointer, mistake.detail)).collect();
        let errors: Vec<Value> = mistakes
            .iter()
            .map(|mistake| json!({ "pointer": mistake.pointer, "detail": mistake.detail }))
            .collect();
        Problem::new(kind, title, each.join("; ")).member("errors", errors.into())
    }

    /// The same problem with another status.
    pub(super) fn status(mut self, status: StatusCode) -> Problem {
        self.status = status;
        self.members.insert("status".to_owned(), status.as_u16().into());
        self
    }

    pub(super) fn advice(self, advice: impl Into<String>) -> Problem {
        self.member("do", advice.into().into())
    }

    pub(super) fn member(mut self, name: &str, value: Value) -> Problem {
        self.members.insert(name.to_owned(), value);
        self
    }

    pub(super) fn header(mut self, name: HeaderName, value: impl Into<String>) -> Problem {
        self.headers.push((name, value.into()));
        self
    }

    /// When it makes sense to ask again.
    pub(super) fn retry_after(self, seconds: u64) -> Problem {
        self.header(header::RETRY_AFTER, seconds.to_string())
    }

    /// The JSON of the answer's body.
    pub(super) fn body(&self) -> String {
        Value::Object(self.members.clone()).to_string()
    }

    pub(super) fn answer(self) -> Answer {
        let mut answer = answer::whole(self.status, "application/problem+json", self.body());
        for (name, value) in self.headers {
            answer::set(&mut answer, name, &value);
        }
        answer
    }
}

/// A mistake in what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mistake {
    /// A JSON pointer as a URI fragment, `#/suite`, or the name of a query parameter, `?limit`.
    pub(super) pointer: String,
    /// What is wrong, and what to write.
    pub(super) detail: String,
}

impl Mistake {
    pub(super) fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Mistake {
        Mistake { pointer: pointer.into(), detail: detail.into() }
    }
}
