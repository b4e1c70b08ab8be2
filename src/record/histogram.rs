//! Distributions of times: one set of bounds everywhere, so that histograms add up; percentiles that are absent
//! rather than wrong.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use serde::{Deserialize, Serialize};

/// Smallest time told apart, in nanoseconds (analysis: bounds wide enough for a memory access and a stuck disk).
const LOWEST_NANOSECONDS: u64 = 1;
/// Largest time told apart: 600 s. Longer ones count in the last bucket, and in the record's `overflow`.
pub(crate) const HIGHEST_NANOSECONDS: u64 = 600_000_000_000;
/// Significant decimal digits.
const DIGITS: u8 = 3;
/// A percentile needs so many samples beyond it, or it says nothing.
const SAMPLES_BEYOND: f64 = 10.0;

/// An empty histogram of nanoseconds with benchd's one set of bounds; recording into it never allocates.
///
/// # Errors
/// Only if the bounds themselves were impossible, which a test rules out.
pub fn new_histogram() -> Result<Histogram<u64>, hdrhistogram::CreationError> {
    Histogram::new_with_bounds(LOWEST_NANOSECONDS, HIGHEST_NANOSECONDS, DIGITS)
}

/// Response, service or lag times as people read them, in seconds. A percentile with fewer than 10 samples
/// beyond it is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// How many times were recorded.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Half are shorter.
    pub p50: Option<f64>,
    /// 90 % are shorter.
    pub p90: Option<f64>,
    /// 95 % are shorter.
    pub p95: Option<f64>,
    /// 99 % are shorter.
    pub p99: Option<f64>,
    /// 99.9 % are shorter.
    #[serde(rename = "p99.9")]
    pub p99_9: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
    /// How many times were longer than each percentile, absent ones included; not told of intervals.
    #[serde(default, skip_serializing_if = "Beyond::is_empty")]
    pub beyond: Beyond,
}

/// How many of the recorded times are longer than a percentile: what it rests on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beyond {
    /// Longer than the median.
    pub p50: u64,
    /// Longer than the 90th percentile.
    pub p90: u64,
    /// Longer than the 95th percentile.
    pub p95: u64,
    /// Longer than the 99th percentile.
    pub p99: u64,
    /// Longer than the 99.9th percentile.
    #[serde(rename = "p99.9")]
    pub p99_9: u64,
}

impl Beyond {
    fn of(histogram: &Histogram<u64>) -> Beyond {
        let beyond =
            |quantile| histogram.len() - histogram.count_between(0, histogram.value_at_quantile(quantile));
        Beyond {
            p50: beyond(0.50),
            p90: beyond(0.90),
            p95: beyond(0.95),
            p99: beyond(0.99),
            p99_9: beyond(0.999),
        }
    }

    fn is_empty(&self) -> bool {
        *self == Beyond::default()
    }
}

impl Percentiles {
    /// Reads the percentiles off a histogram of nanoseconds.
    pub fn of(histogram: &Histogram<u64>) -> Percentiles {
        Percentiles { beyond: Beyond::of(histogram), ..Percentiles::brief(histogram) }
    }

    /// The same without the counts beyond, as an interval is kept.
    pub fn brief(histogram: &Histogram<u64>) -> Percentiles {
        let count = histogram.len();
        let at = |quantile: f64| {
            let beyond = count as f64 * (1.0 - quantile);
            (beyond >= SAMPLES_BEYOND).then(|| seconds(histogram.value_at_quantile(quantile)))
        };
        Percentiles {
            count,
            mean: (count > 0).then(|| histogram.mean() / 1e9),
            p50: at(0.50),
            p90: at(0.90),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            max: (count > 0).then(|| seconds(histogram.max())),
            beyond: Beyond::default(),
        }
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// A whole histogram as HdrHistogram V2 bytes; in JSON as hexadecimal text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedHistogram(Vec<u8>);

impl EncodedHistogram {
    /// Encodes a histogram.
    ///
    /// # Errors
    /// When the histogram cannot be serialised.
    pub fn encode(histogram: &Histogram<u64>) -> anyhow::Result<EncodedHistogram> {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(histogram, &mut bytes)
            .map_err(|error| anyhow::anyhow!("encode a histogram: {error:?}"))?;
        Ok(EncodedHistogram(bytes))
    }

    /// Takes bytes that were encoded before.
    pub fn from_bytes(bytes: Vec<u8>) -> EncodedHistogram {
        EncodedHistogram(bytes)
    }

    /// The HdrHistogram V2 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Decodes it into benchd's bounds, so that it can be added to others.
    ///
    /// # Errors
    /// When the bytes are not an HdrHistogram V2.
    pub fn decode(&self) -> anyhow::Result<Histogram<u64>> {
        let decoded: Histogram<u64> = Deserializer::new()
            .deserialize(&mut self.0.as_slice())
            .map_err(|error| anyhow::anyhow!("decode a histogram: {error:?}"))?;
        let mut wide = new_histogram()?;
        wide.add(&decoded)?;
        Ok(wide)
    }
}

impl Serialize for EncodedHistogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(self.0.len() * 2);
        for byte in &self.0 {
            text.push(HEX[usize::from(byte >> 4)]);
            text.push(HEX[usize::from(byte & 15)]);
        }
        serializer.serialize_str(&text)
    }
}

const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

impl<'de> Deserialize<'de> for EncodedHistogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<EncodedHistogram, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits: Option<Vec<u8>> =
            text.chars().map(|digit| digit.to_digit(16).and_then(|value| u8::try_from(value).ok())).collect();
        let digits = digits
            .filter(|digits| digits.len().is_multiple_of(2))
            .ok_or_else(|| serde::de::Error::custom("a histogram must be pairs of hexadecimal digits"))?;
        Ok(EncodedHistogram(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_without_samples_beyond_it_is_absent() {
        let mut histogram = new_histogram().unwrap();
        assert_eq!(Percentiles::of(&histogram), Percentiles::default());
        for value in 1..=200 {
            histogram.saturating_record(value * 1_000_000);
        }
        let percentiles = Percentiles::of(&histogram);
        assert!((percentiles.p95.unwrap() - 0.190).abs() < 0.001);
        assert_eq!(percentiles.p99, None);
        assert_eq!(percentiles.beyond, Beyond { p50: 100, p90: 20, p95: 10, p99: 2, p99_9: 0 });
        assert_eq!(Percentiles::brief(&histogram), Percentiles { beyond: Beyond::default(), ..percentiles });
        assert!((percentiles.max.unwrap() - 0.2).abs() < 0.001);
    }

    #[test]
    fn times_as_long_as_a_percentile_are_not_beyond_it() {
        let mut histogram = new_histogram().unwrap();
        histogram.saturating_record_n(1_000_000, 999);
        histogram.saturating_record(HIGHEST_NANOSECONDS);
        assert_eq!(Percentiles::of(&histogram).beyond, Beyond { p50: 1, p90: 1, p95: 1, p99: 1, p99_9: 1 });
    }

    #[test]
    fn a_stored_histogram_comes_back_and_adds_up() {
        let mut histogram = new_histogram().unwrap();
        histogram.saturating_record(5_000);
        let json = serde_json::to_string(&EncodedHistogram::encode(&histogram).unwrap()).unwrap();
        let mut back = serde_json::from_str::<EncodedHistogram>(&json).unwrap().decode().unwrap();
        assert_eq!(back, histogram);
        let mut large = new_histogram().unwrap();
        large.saturating_record(HIGHEST_NANOSECONDS);
        back.add(&large).unwrap();
        assert_eq!(back.len(), 2);
    }
}
