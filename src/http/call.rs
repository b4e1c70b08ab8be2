//! One request on its way through a handler.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header;
use serde_json::Value;

use super::access::{Access, Caller};
use super::problem::{Kind, Mistake, Problem};
use super::server::Shared;
use crate::store::Reader;

/// Whoever reads the store waits at most so long for what is being written.
const FLUSH_LIMIT: Duration = Duration::from_millis(500);

/// What a handler is given.
pub(super) struct Call {
    pub(super) shared: Arc<Shared>,
    pub(super) caller: Caller,
    pub(super) headers: HeaderMap,
    pub(super) query: Query,
    /// The parts of the path that the route names in braces.
    pub(super) captured: Vec<String>,
    pub(super) body: Bytes,
}

/// The parameters of a request's query, decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(text: &str) -> Query {
        let decoded = form_urlencoded::parse(text.as_bytes());
        Query(decoded.map(|(name, value)| (Cow::into_owned(name), Cow::into_owned(value))).collect())
    }

    /// The value of a parameter; the first, when it is given twice.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The names given.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The same query with one parameter set, for a link to the next page.
    pub(super) fn with(&self, name: &str, value: &str) -> String {
        let others = self.0.iter().filter(|(given, _)| given != name);
        form_urlencoded::Serializer::new(String::new()).extend_pairs(others).append_pair(name, value).finish()
    }
}

impl Call {
    /// Part of the path by its place.
    pub(super) fn part(&self, place: usize) -> &str {
        self.captured.get(place).map_or("", String::as_str)
    }

    /// Refuses what the caller may not do.
    pub(super) fn allow(&self, needed: Access) -> Result<(), Problem> {
        self.caller.allow(needed)
    }

    /// A header as text.
    pub(super) fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON.
    pub(super) fn json(&self) -> Result<Value, Problem> {
        let content_type = self.header(header::CONTENT_TYPE).unwrap_or_default();
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            let detail =
                format!("the body must be JSON, and its Content-Type say so; it says \"{content_type}\"");
            return Err(Problem::new(Kind::MediaType, "not JSON", detail)
                .advice("send Content-Type: application/json"));
        }
        serde_json::from_slice(&self.body).map_err(|error| {
            Problem::mistakes(
                Kind::Parameters,
                "the body is not JSON",
                &[Mistake::new("#", error.to_string())],
            )
        })
    }

    /// Reads the store, away from the thread that serves. What was handed to it before is seen, unless the disk
    /// is too slow for that.
    pub(super) async fn read_store<T: Send + 'static>(
        &self,
        what: &'static str,
        read: impl FnOnce(&Reader) -> anyhow::Result<T> + Send + 'static,
    ) -> Result<T, Problem> {
        let store = self.shared.services.store.clone();
        let read = move || {
            store.flush(FLUSH_LIMIT);
            store.reader().and_then(|reader| read(&reader))
        };
        self.blocking(what, read).await
    }

    /// Does something that may block, away from the thread that serves.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
    ) -> Result<T, Problem> {
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(anyhow::Error::from).flatten().map_err(|error| Problem::internal(what, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_decoded_and_written_back() {
        let query = Query::parse("suite=a%20b&limit=2&before=x");
        assert_eq!((query.get("suite"), query.get("none")), (Some("a b"), None));
        assert_eq!(query.with("before", "y&z"), "suite=a+b&limit=2&before=y%26z");
    }
}
