//! Events a second of the `cpu` workload on one thread, and the shortest event in milliseconds:
//! `cargo bench --bench cpu -- SECONDS MAX_PRIME`. `benches/peers/cpu` sets both beside sysbench.

use anyhow::Context as _;
use benchd::driver::Stop;
use benchd::workloads::find;
use serde_json::json;

#[allow(clippy::print_stdout, reason = "the numbers are what the caller reads")]
fn main() -> anyhow::Result<()> {
    // Cargo adds an argument of its own, `--bench`.
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<u64>().ok());
    let seconds = numbers.next().unwrap_or(2);
    let max_prime = numbers.next().unwrap_or(10_000);
    let parameters = json!({"warm_up": "0s", "time": format!("{seconds}s"), "max_prime": max_prime});
    let parameters = parameters.as_object().context("parameters are an object")?;
    let cpu = (find("cpu").context("there is a cpu workload")?.build)(parameters)?;
    let result = cpu.measure(None, &Stop::new(), &mut |_| {})?;
    let shortest = result.histograms.get("response").context("there is a histogram")?.decode()?.min();
    println!("{:.2} {:.4}", result.per_second, shortest as f64 / 1e6);
    Ok(())
}
