//! OpenMetrics 1.0 read strictly: what the specification says an exposer MUST do is an error when it is not done.

use std::collections::{BTreeMap, BTreeSet};

/// A family of metrics as it was read.
#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) kind: String,
    pub(crate) unit: Option<String>,
    pub(crate) help: Option<String>,
    /// Samples in their order: name, labels, value.
    pub(crate) samples: Vec<(String, Labels, f64)>,
}

pub(crate) type Labels = BTreeMap<String, String>;

type Parsed<T> = Result<T, String>;

/// The families of an exposition by name.
pub(crate) fn parse(text: &str) -> Parsed<BTreeMap<String, Family>> {
    let body = text.strip_suffix("# EOF\n").ok_or("it does not end with # EOF and a line feed")?;
    let (mut families, mut present) = (BTreeMap::<String, Family>::new(), String::new());
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let (keyword, name) = (words.next().unwrap_or_default(), words.next().ok_or(line)?);
            if name != present {
                ensure(!families.contains_key(name), line, "a family in two places")?;
                families.insert(name.to_owned(), Family::default());
                name.clone_into(&mut present);
            }
            let family = families.get_mut(name).ok_or(line)?;
            describe(family, name, keyword, words.next().unwrap_or_default())
                .map_err(|e| format!("{line}: {e}"))?;
        } else {
            let sample = sample(line).map_err(|error| format!("{line}: {error}"))?;
            families.get_mut(&present).ok_or(line)?.samples.push(sample);
        }
    }
    let mut names = BTreeSet::new();
    for (name, family) in &families {
        check(name, family).map_err(|error| format!("{name}: {error}"))?;
        for suffix in suffixes(&family.kind)? {
            ensure(
                names.insert(format!("{name}{suffix}")),
                name,
                "its samples are named as those of another",
            )?;
        }
    }
    Ok(families)
}

fn ensure(holds: bool, what: &str, problem: &str) -> Parsed<()> {
    if holds { Ok(()) } else { Err(format!("{what}: {problem}")) }
}

fn describe(family: &mut Family, name: &str, keyword: &str, text: &str) -> Parsed<()> {
    ensure(family.samples.is_empty(), keyword, "it stands after samples")?;
    match keyword {
        "TYPE" => {
            ensure(family.kind.is_empty(), keyword, "given twice")?;
            suffixes(text)?;
            text.clone_into(&mut family.kind);
        }
        "UNIT" => {
            ensure(family.unit.is_none(), keyword, "given twice")?;
            ensure(name.ends_with(&format!("_{text}")), text, "the name does not end with the unit")?;
            family.unit = Some(text.to_owned());
        }
        "HELP" => {
            ensure(family.help.is_none(), keyword, "given twice")?;
            family.help = Some(unescape(text)?);
        }
        _ => return Err(format!("{keyword} is no keyword")),
    }
    Ok(())
}

/// What names of samples have behind the name of the family.
fn suffixes(kind: &str) -> Parsed<&'static [&'static str]> {
    match kind {
        "counter" => Ok(&["_total", "_created"]),
        "gauge" => Ok(&[""]),
        "info" => Ok(&["_info"]),
        "histogram" => Ok(&["_bucket", "_count", "_sum", "_created"]),
        _ => Err(format!("{kind:?} is no type of this exposer")),
    }
}

fn sample(line: &str) -> Parsed<(String, Labels, f64)> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, mut rest) = line.split_at(end);
    ensure(is_name(name), name, "not a name")?;
    let mut labels = Labels::new();
    if let Some(mut inside) = rest.strip_prefix('{') {
        loop {
            let (label, after) = inside.split_once("=\"").ok_or("a label without value")?;
            ensure(is_name(label), label, "not a label")?;
            let end = closing_quote(after).ok_or("a value without end")?;
            let before = labels.insert(label.to_owned(), unescape(&after[..end])?);
            ensure(before.is_none(), label, "there twice")?;
            inside = &after[end + 1..];
            match inside.split_at_checked(1) {
                Some((",", more)) => inside = more,
                Some(("}", after)) => {
                    rest = after;
                    break;
                }
                _ => return Err("labels without end".to_owned()),
            }
        }
    }
    let value = rest.strip_prefix(' ').ok_or("no blank before the value")?;
    ensure(!value.contains(' '), value, "a timestamp, an exemplar or a blank too many")?;
    Ok((name.to_owned(), labels, number(value)?))
}

fn is_name(text: &str) -> bool {
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
    first && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, character)| {
        let ends = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        ends.then_some(at)
    })
}

fn unescape(text: &str) -> Parsed<String> {
    let (mut plain, mut characters) = (String::new(), text.chars());
    while let Some(character) = characters.next() {
        plain.push(match (character, if character == '\\' { characters.next() } else { None }) {
            ('\\', Some('n')) => '\n',
            ('\\', Some(other @ ('\\' | '"'))) => other,
            ('\\', _) | ('"', _) => return Err(format!("{text}: {character} is not escaped as it must be")),
            (other, _) => other,
        });
    }
    Ok(plain)
}

fn number(text: &str) -> Parsed<f64> {
    match text {
        "+Inf" => Ok(f64::INFINITY),
        "-Inf" => Ok(f64::NEG_INFINITY),
        "NaN" => Ok(f64::NAN),
        _ => {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
            ensure(digits, text, "not a number")?;
            text.parse().map_err(|_| format!("{text} is not a number"))
        }
    }
}

fn check(name: &str, family: &Family) -> Parsed<()> {
    ensure(!family.samples.is_empty() && family.help.is_some(), name, "it has no samples or no help")?;
    let allowed = suffixes(&family.kind)?;
    let mut seen = BTreeSet::new();
    for (sample, labels, value) in &family.samples {
        let suffix = sample.strip_prefix(name).ok_or_else(|| format!("{sample} is not its sample"))?;
        ensure(allowed.contains(&suffix), sample, "no sample of this type")?;
        ensure(seen.insert((sample, labels)), sample, "there twice")?;
        ensure(labels.contains_key("le") == (suffix == "_bucket"), sample, "le is for buckets")?;
        let counts = matches!(suffix, "_total" | "_bucket" | "_count" | "_sum");
        ensure(!counts || *value >= 0.0, sample, "below 0 or not a number")?;
        ensure(family.kind != "info" || *value == 1.0, sample, "facts are 1")?;
    }
    ensure(family.kind != "info" || family.unit.is_none(), name, "facts have no unit")?;
    if family.kind == "histogram" { histogram(family) } else { Ok(()) }
}

/// Of one series its buckets by bound, its count, and whether there is a sum.
type Distribution = (Vec<(f64, f64)>, Option<f64>, bool);

/// Of each series, buckets grow with their bounds up to +Inf, which holds all that were counted.
fn histogram(family: &Family) -> Parsed<()> {
    let mut series: BTreeMap<Labels, Distribution> = BTreeMap::new();
    for (name, labels, value) in &family.samples {
        let mut own = labels.clone();
        let le = own.remove("le");
        let (buckets, count, has_sum) = series.entry(own).or_default();
        match le {
            Some(le) => {
                ensure(le == "+Inf" || le.contains(['.', 'e']), &le, "not in the canonical form of a bound")?;
                buckets.push((number(&le)?, *value));
            }
            None if name.ends_with("_count") => *count = Some(*value),
            None => *has_sum = true,
        }
    }
    for (labels, (buckets, count, has_sum)) in series {
        let grows = buckets.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        let last = buckets.last().map(|(bound, value)| (*bound, Some(*value)));
        ensure(
            grows && has_sum && last == Some((f64::INFINITY, count)),
            &format!("{labels:?}"),
            "no histogram",
        )?;
    }
    Ok(())
}

#[test]
fn what_is_not_openmetrics_is_refused() {
    let good = "# TYPE a_seconds counter\n# UNIT a_seconds seconds\n# HELP a_seconds It.\na_seconds_total{x=\"\\n\\\\\"} 1.5\n# EOF\n";
    assert_eq!(parse(good).unwrap()["a_seconds"].samples[0].1["x"], "\n\\");
    for (from, to) in [
        ("# EOF\n", ""),
        ("a_seconds_total", "a_seconds"),
        ("counter", "gauge"),
        ("counter", "untyped"),
        ("UNIT a_seconds seconds", "UNIT a_seconds bytes"),
        ("1.5", "-1"),
        ("1.5", "1.5 1700000000"),
        ("1.5", "inf"),
        ("\\n", "\\t"),
        ("# EOF", "\n# EOF"),
        ("# EOF", "a_seconds_total{x=\"\\n\\\\\"} 2\n# EOF"),
        ("# EOF", "# TYPE b gauge\n# HELP b It.\nb 1\n# HELP a_seconds It.\n# EOF"),
        ("# EOF", "# TYPE a_seconds_total gauge\n# HELP a_seconds_total It.\na_seconds_total 1\n# EOF"),
    ] {
        assert!(good.contains(from) && parse(&good.replacen(from, to, 1)).is_err(), "{from} as {to:?}");
    }
    let histogram = "# TYPE h histogram\n# HELP h It.\nh_bucket{le=\"1.0\"} 2\nh_bucket{le=\"+Inf\"} 3\nh_count 3\nh_sum 4\n# EOF\n";
    assert!(parse(histogram).is_ok());
    for (from, to) in [("1.0", "1"), ("h_count 3", "h_count 4"), ("} 2", "} 4"), ("h_sum 4\n", "")] {
        assert!(parse(&histogram.replacen(from, to, 1)).is_err(), "{from} as {to:?}");
    }
}
