//! Tells the program which commit and compiler it was built with; empty where that is not known.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_default();
    println!(
        "cargo::rustc-env=BENCHD_REVISION={}",
        first_word(&["git", "rev-parse", "--short=12", "HEAD"], 0)
    );
    println!("cargo::rustc-env=BENCHD_RUSTC={}", first_word(&[&rustc, "--version"], 1));
    println!("cargo::rerun-if-changed=build.rs");
    // Git keeps these two elsewhere in a linked working tree, and a path that is not there would be built anew each time.
    for moves_with_each_commit in ["HEAD", "logs/HEAD"] {
        let path = first_word(&["git", "rev-parse", "--git-path", moves_with_each_commit], 0);
        if std::path::Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// One word of what a program prints; empty when it does not run.
fn first_word(command: &[&str], place: usize) -> String {
    let output = Command::new(command[0]).args(&command[1..]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.split_whitespace().nth(place).unwrap_or_default().to_owned()
}
