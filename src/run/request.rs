//! Turns what the configuration says about a run into what its worker needs to know.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::plan::RunPlan;
use super::protocol::{CaseRequest, RunRequest, TargetRequest};
use super::queue::Start;
use super::reach::server_access;
use super::runner::RunnerParts;
use crate::config::{OnFailure, ScratchTarget, Target};
use crate::record::RunRecord;
use crate::target::{DirectoryOptions, ScratchOptions};

/// The request for one run, secrets included.
pub(super) fn build(
    parts: &RunnerParts,
    record: &RunRecord,
    start: &Start,
    plan: &RunPlan,
) -> Result<RunRequest> {
    let cases: Vec<CaseRequest> = plan
        .cases
        .iter()
        .map(|plan| CaseRequest {
            name: plan.case.name.clone(),
            workload: plan.case.workload.clone(),
            target: plan.case.target.clone(),
            parameters: plan.case.parameters.clone(),
        })
        .collect();
    let mut targets = BTreeMap::new();
    for name in cases.iter().filter_map(|case| case.target.as_ref()) {
        let target = start.targets.get(name).with_context(|| format!("target `{name}` is not defined"))?;
        targets.insert(name.clone(), target_request(name, target, plan.scale)?);
    }
    Ok(RunRequest {
        id: record.id,
        suite: record.suite.clone(),
        cases,
        targets,
        state_directory: parts.state_directory.clone(),
        identity: parts.identity,
        host: parts.host.clone(),
        profile: record.profile,
        limits: start.suite.limits.clone(),
        stop_on_failure: start.suite.on_failure == OnFailure::Stop,
    })
}

fn target_request(name: &str, target: &Target, scale: f64) -> Result<TargetRequest> {
    match target {
        Target::Server(server) => {
            let access = server_access(name, server)?;
            Ok(TargetRequest::Server { access, accept_excess_privileges: server.accept_excess_privileges })
        }
        Target::Scratch(scratch) => Ok(TargetRequest::Scratch(scratch_options(scratch, scale))),
        Target::Directory(directory) => Ok(TargetRequest::Directory(DirectoryOptions {
            path: directory.path.clone(),
            max_size: directory.max_size,
            allow_network: directory.allow_network,
        })),
    }
}

fn scratch_options(scratch: &ScratchTarget, scale: f64) -> ScratchOptions {
    ScratchOptions {
        directory: scratch.directory.clone(),
        server: scratch.server.clone(),
        options: scratch.options_at(scale),
        preload: scratch.preload.clone(),
        start_timeout: scratch.start_timeout,
        keep_data: scratch.keep_data,
        memory_max: scratch.memory_at(scale),
        keep_running: scratch.keep_running,
    }
}
