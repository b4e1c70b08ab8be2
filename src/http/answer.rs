//! Answers: a whole body, or a stream of events.

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

use super::body::Body;
use super::problem::Problem;

/// What goes back to whoever asked.
pub(super) type Answer = Response<Body>;

/// An answer with a whole body.
pub(super) fn whole(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<hyper::body::Bytes>,
) -> Answer {
    let mut answer = Response::new(Body::whole(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// Plain text, `200`.
pub(super) fn text(body: impl Into<hyper::body::Bytes>) -> Answer {
    whole(StatusCode::OK, "text/plain; charset=utf-8", body)
}

/// JSON.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Result<Answer, Problem> {
    match serde_json::to_vec(value) {
        Ok(body) => Ok(whole(status, "application/json", body)),
        Err(error) => Err(Problem::internal("write JSON", &error.into())),
    }
}

/// No body.
pub(super) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Body::whole(hyper::body::Bytes::new()));
    *answer.status_mut() = status;
    answer
}

/// Sets a header; one whose value cannot be sent is left out.
pub(super) fn set(answer: &mut Answer, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}
