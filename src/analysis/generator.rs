//! Whether the load generator itself was the limit: then a result says what the generator can do, not the target.

use crate::record::CaseResult;

/// More of its CPUs than this leaves the generator no room.
const MOST_OF_CPUS: f64 = 0.80;
/// A client thread that is on a CPU for more of its time than this does not wait for answers.
const MOST_OF_THREAD: f64 = 0.95;
/// An operation may be sent so late, in seconds, however short the response times are.
const LATE: f64 = 0.001;
/// Otherwise so late, as a share of the median response time.
const LATE_SHARE: f64 = 0.10;

/// What shows that the load generator was the limit.
///
/// The lateness judged is that of clients that were free: an operation that waited for a client waited for the
/// target's answer to an earlier one.
pub fn limit(result: &CaseResult) -> Option<String> {
    let generator = &result.generator;
    let of_cpus = generator.cpu_seconds / (result.seconds * generator.cpus);
    if of_cpus.is_finite() && of_cpus > MOST_OF_CPUS {
        let (used, cpus) = (of_cpus * 100.0, generator.cpus);
        return Some(format!("it used {used:.0} % of its {cpus} CPUs (limit {:.0} %)", MOST_OF_CPUS * 100.0));
    }
    if generator.busiest_thread > MOST_OF_THREAD {
        let (used, limit) = (generator.busiest_thread * 100.0, MOST_OF_THREAD * 100.0);
        return Some(format!("a client thread was on a CPU {used:.0} % of the time (limit {limit:.0} %)"));
    }
    let limit = LATE.max(LATE_SHARE * result.response.p50.unwrap_or_default());
    generator.late_p99.filter(|late| *late > limit).map(|late| {
        let (late, limit) = (late * 1e3, limit * 1e3);
        format!("1 % of operations were sent more than {late:.2} ms late by clients that were free (limit {limit:.2} ms)")
    })
}
