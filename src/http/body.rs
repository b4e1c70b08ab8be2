//! The body of an answer, and reading that of a request.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::StatusCode;
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use tokio::sync::mpsc;

use super::problem::{Kind, Problem};

/// A whole body, or one that comes in parts until its sender goes away.
#[derive(Debug)]
pub(super) enum Body {
    Whole(Full<Bytes>),
    Parts(mpsc::Receiver<Bytes>),
}

impl Body {
    pub(super) fn whole(bytes: Bytes) -> Body {
        Body::Whole(Full::new(bytes))
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Body::Whole(whole) => Pin::new(whole).poll_frame(cx),
            Body::Parts(parts) => parts.poll_recv(cx).map(|part| part.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Whole(whole) => whole.is_end_stream(),
            Body::Parts(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(whole) => whole.size_hint(),
            Body::Parts(_) => SizeHint::default(),
        }
    }
}

/// Reads a request's body, up to a limit.
pub(super) async fn read(body: Incoming, limit: u64) -> Result<Bytes, Problem> {
    let too_large = || {
        Problem::new(
            Kind::TooLarge,
            "body too large",
            format!("the body is larger than {limit} bytes (server.body_limit)"),
        )
    };
    if body.size_hint().lower() > limit {
        return Err(too_large());
    }
    let limited = Limited::new(body, usize::try_from(limit).unwrap_or(usize::MAX));
    match limited.collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => {
            Err(Problem::new(Kind::Syntax, "body cut off", format!("the body could not be read: {error}"))
                .status(StatusCode::BAD_REQUEST))
        }
    }
}
