//! One row of the metric table, and the points it is filled with.

use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};

use super::snapshot::Snapshot;

/// What kind of number a family holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, until its source begins anew.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Always 1: its labels are what it says.
    Info,
    /// Counts of observations up to each of several bounds.
    Histogram,
}

impl Kind {
    /// The word for it in the documentation.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Info => "info",
            Kind::Histogram => "histogram",
        }
    }

    /// What the text format calls it; it has no word for facts.
    const fn exposed(self) -> MetricType {
        match self {
            Kind::Counter => MetricType::COUNTER,
            Kind::Gauge | Kind::Info => MetricType::GAUGE,
            Kind::Histogram => MetricType::HISTOGRAM,
        }
    }
}

/// A metric family: what it is called, what it means, and how its values are read off a snapshot.
#[derive(Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What kind of number it holds.
    pub kind: Kind,
    /// The unit as people read it: `s`, `bytes`, `0-1`, `1` for counts, `-` for facts.
    pub unit: &'static str,
    /// Names of its labels. A label without a value is left out of a series.
    pub labels: &'static [&'static str],
    /// What it says.
    pub help: &'static str,
    /// Where the values come from.
    pub source: &'static str,
    /// When there is no series.
    pub absent: &'static str,
    /// Reads the values.
    pub(super) read: fn(&Snapshot, &mut Points),
}

impl Family {
    pub(super) const fn new(
        name: &'static str,
        (kind, unit): (Kind, &'static str),
        labels: &'static [&'static str],
        help: &'static str,
        (source, absent): (&'static str, &'static str),
        read: fn(&Snapshot, &mut Points),
    ) -> Family {
        Family { name, kind, unit, labels, help, source, absent, read }
    }

    /// The family with its present values; `None` when it has none.
    pub(super) fn collect(&self, snapshot: &Snapshot) -> Option<MetricFamily> {
        let mut points = Points { kind: self.kind, labels: self.labels, metrics: Vec::new() };
        (self.read)(snapshot, &mut points);
        if points.metrics.is_empty() {
            return None;
        }
        let mut family = MetricFamily::default();
        family.set_name(self.name.to_owned());
        family.set_help(self.help.to_owned());
        family.set_field_type(self.kind.exposed());
        family.set_metric(points.metrics);
        Some(family)
    }
}

/// A counter of things.
pub(super) const COUNT: (Kind, &str) = (Kind::Counter, "1");
/// A counter of seconds.
pub(super) const COUNT_SECONDS: (Kind, &str) = (Kind::Counter, "s");
/// A counter of bytes.
pub(super) const COUNT_BYTES: (Kind, &str) = (Kind::Counter, "bytes");
/// A number of things, or 0 and 1 for no and yes.
pub(super) const NUMBER: (Kind, &str) = (Kind::Gauge, "1");
/// Seconds.
pub(super) const SECONDS: (Kind, &str) = (Kind::Gauge, "s");
/// Bytes.
pub(super) const BYTES: (Kind, &str) = (Kind::Gauge, "bytes");
/// Things a second.
pub(super) const RATE: (Kind, &str) = (Kind::Gauge, "1/s");
/// Bytes a second.
pub(super) const BYTES_RATE: (Kind, &str) = (Kind::Gauge, "bytes/s");
/// A share of a whole.
pub(super) const RATIO: (Kind, &str) = (Kind::Gauge, "0-1");
/// Degrees.
pub(super) const CELSIUS: (Kind, &str) = (Kind::Gauge, "C");
/// An instant.
pub(super) const TIME: (Kind, &str) = (Kind::Gauge, "Unix time, s");
/// Facts.
pub(super) const FACTS: (Kind, &str) = (Kind::Info, "-");
/// A distribution of shares.
pub(super) const RATIOS: (Kind, &str) = (Kind::Histogram, "0-1");
/// A distribution of numbers.
pub(super) const NUMBERS: (Kind, &str) = (Kind::Histogram, "1");
/// A distribution of times.
pub(super) const TIMES: (Kind, &str) = (Kind::Histogram, "s");

/// The series of one family while they are gathered.
pub(super) struct Points {
    kind: Kind,
    labels: &'static [&'static str],
    metrics: Vec<Metric>,
}

impl Points {
    /// A series without labels.
    pub(super) fn one(&mut self, value: f64) {
        self.add(&[], value);
    }

    /// A series without labels, if its value is known.
    pub(super) fn known(&mut self, value: Option<f64>) {
        self.add_known(&[], value);
    }

    /// A series, if its value is known.
    pub(super) fn add_known(&mut self, labels: &[&str], value: Option<f64>) {
        if let Some(value) = value {
            self.add(labels, value);
        }
    }

    /// A series of facts.
    pub(super) fn fact(&mut self, labels: &[&str]) {
        self.add(labels, 1.0);
    }

    /// A series: the values of the labels in the table's order.
    pub(super) fn add(&mut self, labels: &[&str], value: f64) {
        let mut metric = Metric::from_label(self.pairs(labels));
        if self.kind == Kind::Counter {
            let mut counter = Counter::default();
            counter.set_value(value);
            metric.set_counter(counter);
        } else {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            metric.set_gauge(gauge);
        }
        self.metrics.push(metric);
    }

    /// A histogram: cumulated counts by upper bound, the count of all, and the sum of what was observed.
    pub(super) fn distribution(&mut self, labels: &[&str], buckets: &[(f64, u64)], count: u64, sum: f64) {
        let buckets = buckets.iter().map(|(bound, count)| {
            let mut bucket = Bucket::default();
            bucket.set_upper_bound(*bound);
            bucket.set_cumulative_count(*count);
            bucket
        });
        let mut histogram = Histogram::default();
        histogram.set_bucket(buckets.collect());
        histogram.set_sample_count(count);
        histogram.set_sample_sum(sum);
        let mut metric = Metric::from_label(self.pairs(labels));
        metric.set_histogram(histogram);
        self.metrics.push(metric);
    }

    fn pairs(&self, values: &[&str]) -> Vec<LabelPair> {
        let named = self.labels.iter().zip(values).filter(|(_, value)| !value.is_empty());
        named
            .map(|(name, value)| {
                let mut pair = LabelPair::default();
                pair.set_name((*name).to_owned());
                pair.set_value((*value).to_owned());
                pair
            })
            .collect()
    }
}
