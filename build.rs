//! Tells the program which commit and compiler it was built with; empty where that is not known.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_default();
    println!("cargo::rustc-env=BENCHD_REVISION={}", first_word(&["git", "rev-parse", "--short", "HEAD"], 0));
    println!("cargo::rustc-env=BENCHD_RUSTC={}", first_word(&[&rustc, "--version"], 1));
    println!("cargo::rerun-if-changed=.git/HEAD");
    println!("cargo::rerun-if-changed=.git/refs/heads");
}

/// One word of what a program prints; empty when it does not run.
fn first_word(command: &[&str], place: usize) -> String {
    let output = Command::new(command[0]).args(&command[1..]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.split_whitespace().nth(place).unwrap_or_default().to_owned()
}
