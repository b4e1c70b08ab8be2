//! OpenMetrics 1.0 of the same families: units, facts as a type of their own, an end that can be checked.
//!
//! There is no `_created`: when a counter of the kernel began is not known.

use std::fmt::Write as _;

use prometheus::proto::{Histogram, LabelPair, Metric, MetricFamily};

use super::family::{Family, Kind};

/// All families, each with its values.
pub(super) fn encode(families: impl Iterator<Item = (&'static Family, MetricFamily)>) -> String {
    let mut text = Text(String::with_capacity(64 << 10));
    families.for_each(|(family, filled)| text.family(family, filled.get_metric()));
    text.0.push_str("# EOF\n");
    text.0
}

/// The name of a family: that of its samples without what the kind adds.
fn name(family: &Family) -> &'static str {
    let suffix = match family.kind {
        Kind::Counter => "_total",
        Kind::Info => "_info",
        Kind::Gauge | Kind::Histogram => "",
    };
    family.name.strip_suffix(suffix).unwrap_or(family.name)
}

/// The unit, which is also the end of the family's name.
fn unit(family: &Family) -> Option<&'static str> {
    match family.unit {
        "s" | "Unix time, s" => Some("seconds"),
        "bytes" => Some("bytes"),
        "0-1" => Some("ratio"),
        _ => None,
    }
}

struct Text(String);

impl Text {
    fn family(&mut self, family: &Family, metrics: &[Metric]) {
        let name = name(family);
        self.line(&["# TYPE ", name, " ", family.kind.as_str()]);
        if let Some(unit) = unit(family) {
            self.line(&["# UNIT ", name, " ", unit]);
        }
        self.0.push_str("# HELP ");
        self.0.push_str(name);
        self.0.push(' ');
        self.escaped(family.help);
        self.0.push('\n');
        for metric in metrics {
            match family.kind {
                Kind::Counter => self.sample(family.name, metric, metric.get_counter().get_value()),
                Kind::Gauge | Kind::Info => self.sample(family.name, metric, metric.get_gauge().get_value()),
                Kind::Histogram => self.histogram(family.name, metric, metric.get_histogram()),
            }
        }
    }

    fn line(&mut self, words: &[&str]) {
        words.iter().for_each(|word| self.0.push_str(word));
        self.0.push('\n');
    }

    fn sample(&mut self, name: &str, metric: &Metric, value: f64) {
        self.0.push_str(name);
        self.labels(metric.get_label(), None);
        self.value(value);
    }

    fn histogram(&mut self, name: &str, metric: &Metric, histogram: &Histogram) {
        let all = histogram.get_sample_count();
        let bounds = histogram.get_bucket().iter();
        let buckets = bounds.map(|bucket| (bound(bucket.upper_bound()), bucket.cumulative_count()));
        for (bound, count) in buckets.chain([("+Inf".to_owned(), all)]) {
            self.0.push_str(name);
            self.0.push_str("_bucket");
            self.labels(metric.get_label(), Some(&bound));
            self.value(count as f64);
        }
        for (part, value) in [("_count", all as f64), ("_sum", histogram.get_sample_sum())] {
            self.0.push_str(name);
            self.0.push_str(part);
            self.labels(metric.get_label(), None);
            self.value(value);
        }
    }

    fn labels(&mut self, labels: &[LabelPair], le: Option<&str>) {
        let pairs =
            labels.iter().map(|pair| (pair.name(), pair.value())).chain(le.map(|bound| ("le", bound)));
        let mut before = '{';
        for (name, value) in pairs {
            self.0.push(before);
            self.0.push_str(name);
            self.0.push_str("=\"");
            self.escaped(value);
            self.0.push('"');
            before = ',';
        }
        if before == ',' {
            self.0.push('}');
        }
    }

    fn value(&mut self, value: f64) {
        // Writing to a String cannot fail.
        let _ = match value {
            infinite if infinite.is_infinite() => {
                self.0.write_str(if infinite > 0.0 { " +Inf" } else { " -Inf" })
            }
            value => write!(self.0, " {value}"),
        };
        self.0.push('\n');
    }

    fn escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                '\n' => self.0.push_str("\\n"),
                other => self.0.push(other),
            }
        }
    }
}

/// An upper bound, which is a fraction in this format, 1 being written 1.0.
fn bound(bound: f64) -> String {
    let text = bound.to_string();
    if text.contains('.') { text } else { text + ".0" }
}
