//! What the README shows must be so: its configuration is accepted, and its commands exist.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::fs;
use std::path::Path;

use common::program::{Place, words};

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

#[test]
fn the_configuration_in_the_readme_is_accepted() {
    let text = readme();
    let example = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let place = Place::new("");
    fs::write(place.path("example.toml"), example).unwrap();
    let output = place.run(&["check", place.path("example.toml").to_str().unwrap()]);
    assert!(output.status.success(), "{}", words(&output));
}

#[test]
fn every_command_of_the_help_is_in_the_readme_and_the_other_way_round() {
    let place = Place::new("");
    let help = words(&place.run(&["--help"]));
    let listed = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let commands: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let text = readme();
    let section = text.split("## Commands").nth(1).unwrap().split("##").next().unwrap();
    for command in &commands {
        assert!(section.contains(&format!("`{command}`")), "{command} is not in the README");
    }
    let named = section.split(';').next().unwrap().split('`').skip(1).step_by(2);
    for command in named {
        assert!(commands.contains(&command), "the README names {command}, which does not exist");
    }
}
