//! What a scraper takes: the format of metrics, compression, and how long it waits.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::answer::Answer;
use crate::export::Format;

/// How long a Prometheus waits for a scrape as a whole, in seconds.
const SCRAPE_TIMEOUT: HeaderName = HeaderName::from_static("x-prometheus-scrape-timeout-seconds");

/// Of that time so much is left for the network and for reading.
const OFFSET: Duration = Duration::from_millis(250);

/// A format and its content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) format: Format,
    pub(super) content_type: &'static str,
}

impl Chosen {
    fn of(format: Format) -> Chosen {
        Chosen { format, content_type: format.content_type() }
    }
}

/// The format that the header Accept likes best, of two that it likes alike the first; the text format when it names
/// none that there is.
pub(super) fn format(headers: &HeaderMap) -> Chosen {
    let mut best = (0.0, Chosen::of(Format::Text));
    for range in ranges(headers, &header::ACCEPT) {
        if let Some(chosen) = chosen(&range)
            && range.quality > best.0
        {
            best = (range.quality, chosen);
        }
    }
    best.1
}

/// What a media range stands for, if there is such a thing.
fn chosen(range: &Range<'_>) -> Option<Chosen> {
    let version = range.parameter("version");
    match range.name.to_ascii_lowercase().as_str() {
        "application/openmetrics-text" if version.is_none_or(|version| version == "1.0.0") => {
            let chosen = Chosen::of(Format::OpenMetrics);
            // Whoever names an escaping is told which one was used; names here need none.
            let escaping = "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores";
            Some(match range.parameter("escaping") {
                Some(_) => Chosen { content_type: escaping, ..chosen },
                None => chosen,
            })
        }
        "text/plain" if version.is_none_or(|version| version == "0.0.4") => Some(Chosen::of(Format::Text)),
        "text/*" | "*/*" => Some(Chosen::of(Format::Text)),
        _ => None,
    }
}

/// Whether an answer may be compressed by gzip: named with a quality above 0, or meant by `*` and not named.
pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let mut any = false;
    for range in ranges(headers, &header::ACCEPT_ENCODING) {
        if range.name.eq_ignore_ascii_case("gzip") {
            return range.quality > 0.0;
        }
        any |= range.name == "*" && range.quality > 0.0;
    }
    any
}

/// How long a scrape may take, when the scraper says how long it waits.
pub(super) fn patience(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(SCRAPE_TIMEOUT)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::try_from_secs_f64(seconds).ok()?.saturating_sub(OFFSET))
}

/// A text compressed in the fastest way: metrics repeat themselves, so that more effort saves little.
pub(super) fn gzip(text: &str) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8), Compression::fast());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

/// Marks an answer as one of several that the same path has.
pub(super) fn mark(answer: &mut Answer, is_gzip: bool) {
    let headers = answer.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
    if is_gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
}

/// One element of a header such as Accept: `text/plain;version=0.0.4;q=0.5`.
struct Range<'a> {
    name: &'a str,
    quality: f64,
    parameters: Vec<(&'a str, &'a str)>,
}

impl Range<'_> {
    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }
}

/// The elements of a header, which may be there several times. A quality that is none counts as 0.
fn ranges<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = Range<'a>> {
    let texts = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).map(|element| {
        let mut parts = element.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let parameters: Vec<(&str, &str)> = parts
            .filter_map(|part| part.split_once('='))
            .map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
            .collect();
        let quality = parameters.iter().find(|(name, _)| name.eq_ignore_ascii_case("q"));
        let quality = quality.map_or(1.0, |(_, value)| value.parse().unwrap_or(0.0));
        Range { name, quality, parameters }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
    const OPEN: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn the_format_is_the_one_liked_best_of_those_there_are() {
        for (accept, content_type) in [
            ("*/*", TEXT),
            ("text/html", TEXT),
            ("application/openmetrics-text", OPEN),
            ("Application/OpenMetrics-Text; Version=\"1.0.0\"", OPEN),
            ("application/openmetrics-text;version=0.0.1", TEXT),
            ("application/openmetrics-text;version=1.0.0;q=0.2,text/plain;version=0.0.4;q=0.3", TEXT),
            ("application/openmetrics-text;q=0.3 , text/plain;q=0.2, */*;q=0.1", OPEN),
            ("application/openmetrics-text;q=0,*/*", TEXT),
            ("application/openmetrics-text;q=x", TEXT),
            ("text/plain,application/openmetrics-text", TEXT),
            ("", TEXT),
        ] {
            assert_eq!(format(&headers("accept", accept)).content_type, content_type, "{accept}");
        }
        assert_eq!(format(&HeaderMap::new()).format, Format::Text);
    }

    #[test]
    fn a_present_prometheus_gets_openmetrics_and_is_told_the_escaping() {
        let accept = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                      application/openmetrics-text;version=0.0.1;q=0.4,\
                      text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        let chosen = format(&headers("accept", accept));
        assert_eq!(chosen.format, Format::OpenMetrics);
        assert_eq!(chosen.content_type, format!("{OPEN}; escaping=underscores"));
    }

    #[test]
    fn gzip_needs_a_quality_above_0() {
        for (encodings, taken) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.1", true),
            ("gzip;q=0, *", false),
            ("*", true),
            ("*;q=0", false),
            ("br, identity", false),
        ] {
            assert_eq!(takes_gzip(&headers("accept-encoding", encodings)), taken, "{encodings}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn what_was_compressed_comes_back() {
        let text = "benchd_build_info 1\n".repeat(1000);
        let small = gzip(&text).unwrap();
        assert!(small.len() < text.len() / 20);
        let mut back = String::new();
        flate2::read::GzDecoder::new(small.as_slice()).read_to_string(&mut back).unwrap();
        assert_eq!(back, text);
    }

    #[test]
    fn a_scraper_that_waits_10_seconds_is_answered_in_less() {
        let patience = |value| patience(&headers("x-prometheus-scrape-timeout-seconds", value));
        assert_eq!(patience("10"), Some(Duration::from_millis(9750)));
        assert_eq!(patience("0.1"), Some(Duration::ZERO));
        assert_eq!([patience("soon"), patience("-1"), patience("inf")], [None; 3]);
    }
}
