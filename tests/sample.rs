//! The sampler on small trees of `/proc` and `/sys`: what each collector makes of a kind of host, and what the
//! thread does when the host changes.

#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use benchd::sample::{
    CollectorOutcome, CollectorState, Counts, DeviceFilter, Disk, Measure, Network, Peak, Rates, Root,
    Sample, Sampler, Settings, columns, self_process,
};
use benchd::units::{Bytes, Span};
use jiff::Timestamp;
use tokio::sync::oneshot::error::TryRecvError;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn root(tree: &Path) -> Root {
    Root { proc: tree.join("proc"), sys: tree.join("sys") }
}

/// As shipped, but for an interval so long that only asked-for samples are taken.
fn settings() -> Settings {
    Settings {
        interval: Span::from_secs(10),
        ring: Span::from_secs(900),
        deadline: Span::from_secs(10),
        peak_windows: vec![Span::from_secs(60)],
        disks: DeviceFilter::new("", r"^(z?ram|loop|fd|sr|(h|s|v|xv)d[a-z]+|nvme\d+n\d+p)\d+$").unwrap(),
        network: DeviceFilter::new("", "^(lo|veth|docker|br-|virbr|cni|flannel|cali|tap)").unwrap(),
        link_speed: BTreeMap::new(),
    }
}

fn sampler_of(name: &str) -> Sampler {
    Sampler::start(settings(), root(&fixture(name))).unwrap()
}

fn fresh(sampler: &Sampler) -> Arc<Sample> {
    sampler.request().blocking_recv().unwrap()
}

fn disks(sample: &Sample) -> &[Disk] {
    &sample.disks.as_ref().unwrap().values
}

fn networks(sample: &Sample) -> &[Network] {
    &sample.networks.as_ref().unwrap().values
}

fn state(sampler: &Sampler, name: &str) -> CollectorState {
    sampler.collectors().into_iter().find(|state| state.name == name).unwrap()
}

/// A copy of a fixture that a test may change. Files are written in place: the collectors keep them open.
struct Host(tempfile::TempDir);

impl Host {
    fn copy_of(name: &str) -> Host {
        let host = Host(tempfile::tempdir().unwrap());
        copy(&fixture(name), host.0.path());
        host
    }

    fn write(&self, file: &str, content: &str) {
        fs::write(self.0.path().join(file), content).unwrap();
    }

    fn replace(&self, file: &str, old: &str, new: &str) {
        let content = fs::read_to_string(self.0.path().join(file)).unwrap();
        assert!(content.contains(old), "{file} has no {old}");
        self.write(file, &content.replace(old, new));
    }

    fn sampler(&self) -> Sampler {
        Sampler::start(settings(), root(self.0.path())).unwrap()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => copy(&entry.path(), &target),
            kind if kind.is_symlink() => {
                std::os::unix::fs::symlink(fs::read_link(entry.path()).unwrap(), target).unwrap();
            }
            _ => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn every_collector_reads_an_idle_virtual_host() {
    let sampler = sampler_of("proc-virtio");
    for state in sampler.collectors() {
        assert_eq!(state.outcome, CollectorOutcome::Read, "{state:?}");
    }
    let sample = sampler.latest();
    let cpu = sample.cpu.as_ref().unwrap();
    assert_eq!(cpu.cpus.len(), 2);
    assert_eq!(cpu.cpus[1].modes().map(|(_, ticks)| ticks), [21797, 0, 4698, 46738, 300, 0, 31, 13]);
    assert_eq!((cpu.context_switches, cpu.interrupts, cpu.forks), (Some(455111), Some(328013), Some(15403)));
    assert_eq!((cpu.procs_running, cpu.procs_blocked, cpu.boot_time), (Some(3), Some(1), Some(1796055840)));
    let load = sample.load.as_ref().unwrap();
    assert_eq!((load.one, load.five, load.fifteen), (0.29, 0.69, 0.45));
    let pressure = sample.pressure.as_ref().unwrap();
    assert_eq!((pressure.cpu_some, pressure.cpu_full), (Some(32858838), Some(0)));
    assert_eq!((pressure.io_some, pressure.io_full), (Some(4115080), Some(2603650)));
    assert_eq!((pressure.memory_some, pressure.memory_full), (Some(77), Some(5)));
    let tcp = sample.tcp.as_ref().unwrap();
    assert_eq!((tcp.sent_segments, tcp.retransmitted_segments), (Some(3031), Some(17)));
    assert_eq!((tcp.listen_overflows, tcp.listen_drops), (Some(5), Some(6)));
    let events = sample.vmstat.as_ref().unwrap();
    assert_eq!((events.major_faults, events.swap_in), (Some(1234), Some(11)));
    assert_eq!((events.swap_out, events.oom_kills), (Some(37), Some(2)));
}

#[test]
fn disks_have_all_17_fields_and_partitions_are_left_out() {
    let sampler = sampler_of("proc-virtio");
    let sample = sampler.latest();
    let [vda] = disks(&sample) else { panic!("{:?}", disks(&sample)) };
    assert_eq!(vda.device.as_str(), "vda");
    assert_eq!((vda.reads, vda.reads_merged, vda.sectors_read, vda.read_ms), (45781, 7064, 4300242, 23193));
    assert_eq!(
        (vda.writes, vda.writes_merged, vda.sectors_written, vda.write_ms),
        (12224, 74200, 23151536, 70406)
    );
    assert_eq!((vda.in_flight, vda.io_ms, vda.weighted_io_ms), (2, 8616, 94074));
    assert_eq!((vda.discards, vda.discards_merged), (Some(5320), Some(42)));
    assert_eq!((vda.sectors_discarded, vda.discard_ms), (Some(300216), Some(454)));
    assert_eq!((vda.flushes, vda.flush_ms), (Some(658), Some(20)));
    assert_eq!(vda.read_bytes(), 4300242 * 512);
}

#[test]
fn memory_is_in_bytes_and_huge_pages_too() {
    let sample = sampler_of("proc-virtio").latest();
    let memory = sample.memory.as_ref().unwrap();
    let kib = |kib: u64| Some(kib * 1024);
    assert_eq!((memory.total, memory.free, memory.available), (kib(24684092), kib(16082732), kib(24171936)));
    assert_eq!((memory.buffers, memory.cached, memory.slab), (kib(47052), kib(8000568), kib(440648)));
    assert_eq!((memory.dirty, memory.writeback, memory.anonymous), (kib(652), kib(4), kib(22100)));
    assert_eq!(
        (memory.committed, memory.swap_total, memory.swap_free),
        (kib(69904), kib(2097148), kib(2097000))
    );
    assert_eq!((memory.huge_pages_total, memory.huge_pages_free), (kib(8 * 2048), kib(3 * 2048)));
}

#[test]
fn a_virtual_card_has_traffic_and_state_but_no_speed() {
    let sample = sampler_of("proc-virtio").latest();
    let [eth0, eth1] = networks(&sample) else { panic!("{:?}", networks(&sample)) };
    let received = (eth0.receive.bytes, eth0.receive.packets, eth0.receive.errors, eth0.receive.drops);
    assert_eq!(received, (107302525, 4589, 1, 2));
    let sent = (eth0.transmit.bytes, eth0.transmit.packets, eth0.transmit.errors, eth0.transmit.drops);
    assert_eq!(sent, (369835, 3092, 7, 8));
    assert_eq!((eth0.speed, eth0.up), (None, Some(true)));
    assert_eq!((eth1.speed, eth1.up), (None, Some(false)));
}

#[test]
fn a_kernel_without_pressure_is_no_failure() {
    let sampler = sampler_of("proc-nvme-el9");
    let pressure = state(&sampler, "pressure");
    assert_eq!(pressure.outcome, CollectorOutcome::Absent);
    assert!(pressure.succeeded() && pressure.last_error.is_none(), "{pressure:?}");
    assert_eq!(sampler.latest().pressure, None);
}

#[test]
fn many_cpus_nvme_and_fast_cards_are_read() {
    let sample = sampler_of("proc-nvme-el9").latest();
    let cpu = sample.cpu.as_ref().unwrap();
    assert_eq!((cpu.cpus.len(), cpu.cpus[31].cpu, cpu.cpus[31].user), (32, 31, 1031));
    let names: Vec<_> = disks(&sample).iter().map(|disk| disk.device.as_str()).collect();
    assert_eq!(names, ["nvme0n1", "nvme1n1", "dm-0"]);
    let [card, bond] = networks(&sample) else { panic!("{:?}", networks(&sample)) };
    assert_eq!((card.device.as_str(), card.receive.bytes), ("ens1f0np0", u64::MAX));
    assert_eq!((card.speed, bond.speed), (Some(3_125_000_000), Some(6_250_000_000)));
    assert_eq!(sample.memory.as_ref().unwrap().total, Some(6 << 40));
}

#[test]
fn an_old_kernel_has_fewer_fields() {
    let sampler = sampler_of("proc-old-kernel");
    let sample = sampler.latest();
    let sda = &disks(&sample)[0];
    assert_eq!((sda.reads, sda.weighted_io_ms, sda.discards, sda.flushes), (1, 11, None, None));
    let memory = sample.memory.as_ref().unwrap();
    assert_eq!((memory.free, memory.available, memory.huge_pages_total), (Some(512 * 1024), None, None));
    assert_eq!(sample.vmstat.as_ref().unwrap().oom_kills, None);
    assert!(sampler.collectors().iter().all(CollectorState::succeeded));
}

#[test]
fn only_credible_link_speeds_are_given_and_a_configured_one_wins() {
    let mut settings = settings();
    settings.link_speed = [("eth0".to_owned(), "1Gbit/s".parse().unwrap())].into();
    let sampler = Sampler::start(settings, root(&fixture("proc-old-kernel"))).unwrap();
    let sample = sampler.latest();
    let speeds: Vec<_> = networks(&sample).iter().map(|card| (card.device.as_str(), card.speed)).collect();
    let expected = [
        ("eth0", Some(125_000_000)), // configured, where the kernel says -1
        ("eth1", None),              // cannot be read
        ("eth2", Some(1_250_000)),   // a real card that negotiated 10 Mbit/s
        ("tun0", None),              // 10 Mbit/s without a device behind it
        ("eth3", None),              // "unknown" as an unsigned number
    ];
    assert_eq!(speeds, expected);
    assert_eq!(networks(&sample).iter().map(|card| card.up).collect::<Vec<_>>()[3..], [Some(false), None]);
}

#[test]
fn rates_are_of_what_changed_between_two_asked_for_samples() {
    let host = Host::copy_of("proc-virtio");
    let sampler = host.sampler();
    let older = sampler.latest();
    host.replace("proc/stat", "cpu0 21235 0 4274 48040", "cpu0 21265 0 4274 48110");
    host.replace("proc/diskstats", "vda 45781 7064 4300242 23193", "vda 45791 7064 4300322 23243");
    host.replace("proc/diskstats", "658 20", "660 50");
    host.replace("proc/vmstat", "pgmajfault 1234", "pgmajfault 1233");
    let newer = fresh(&sampler);
    let rates = Rates::between(&older, &newer);
    let cpu = rates.cpu.unwrap();
    assert_eq!((cpu.utilization, cpu.busiest), (0.3, 0.3));
    let seconds =
        newer.disks.as_ref().unwrap().moment.seconds_since(older.disks.as_ref().unwrap().moment).unwrap();
    let disk = &rates.disks[0];
    assert_eq!((disk.read_iops, disk.read_bytes), (10.0 / seconds, 80.0 * 512.0 / seconds));
    assert_eq!((disk.read_await, disk.write_await, disk.flush_await), (Some(0.005), None, Some(0.015)));
    assert_eq!(rates.memory.major_faults, None, "the counter went back");
    assert_eq!(rates.networks.len(), 2);
}

#[test]
fn idle_time_that_goes_back_is_held() {
    let host = Host::copy_of("proc-virtio");
    let sampler = host.sampler();
    host.replace("proc/stat", "cpu0 21235 0 4274 48040 56", "cpu0 21235 0 4274 48030 50");
    let sample = fresh(&sampler);
    let cpu0 = sample.cpu.as_ref().unwrap().cpus[0];
    assert_eq!((cpu0.idle, cpu0.iowait), (48040, 56));
}

#[test]
fn devices_that_go_and_come_are_followed() {
    let host = Host::copy_of("proc-virtio");
    let sampler = host.sampler();
    host.replace("proc/diskstats", "254       0 vda ", "254       0 vdb ");
    host.replace("proc/net/dev", "    lo:    3193", "  eth9:    3193");
    let sample = fresh(&sampler);
    assert_eq!(disks(&sample)[0].device.as_str(), "vdb");
    let names: Vec<_> = networks(&sample).iter().map(|card| card.device.as_str()).collect();
    assert_eq!(names, ["eth9", "eth0", "eth1"]);
    assert_eq!(networks(&sample)[0].up, None);
}

#[test]
fn a_collector_that_fails_serves_its_last_values_and_stops_no_other() {
    let host = Host::copy_of("proc-virtio");
    let sampler = host.sampler();
    let before = sampler.latest();
    host.replace("proc/stat", "cpu1 21797", "cpu1 many");
    host.write("proc/loadavg", "1.50 0.69 0.45 1/94 15403\n");
    let sample = fresh(&sampler);
    assert_eq!(sample.cpu, before.cpu);
    assert_eq!(sample.load.as_ref().unwrap().one, 1.5);
    let cpu = state(&sampler, "cpu");
    let path = host.0.path().join("proc/stat");
    let error = format!("{}:3: user is \"many\", not a number", path.display());
    assert_eq!((cpu.outcome, cpu.last_error.unwrap().1), (CollectorOutcome::Failed, error));
    assert!(state(&sampler, "load").succeeded());
    assert!(Rates::between(&before, &sample).cpu.is_none());

    host.replace("proc/stat", "cpu1 many", "cpu1 21797");
    fresh(&sampler);
    assert!(state(&sampler, "cpu").succeeded());
}

#[test]
fn a_missing_file_that_every_host_has_is_a_failure() {
    let host = Host::copy_of("proc-virtio");
    fs::remove_file(host.0.path().join("proc/meminfo")).unwrap();
    let sampler = host.sampler();
    let memory = state(&sampler, "memory");
    assert_eq!((memory.outcome, memory.last_success), (CollectorOutcome::Failed, None));
    let error = memory.last_error.unwrap().1;
    assert!(error.starts_with("cannot read ") && error.contains("proc/meminfo: No such file"), "{error}");
    assert_eq!(sampler.latest().memory, None);
}

#[test]
fn two_who_ask_see_the_same_peaks_and_asking_changes_none() {
    let host = Host::copy_of("proc-virtio");
    let mut settings = settings();
    settings.interval = Span::from_millis(100);
    let sampler = Sampler::start(settings, root(host.0.path())).unwrap();
    // 90 ticks of work and 10 of rest on one CPU; after that its clock stands still, and there is nothing to count.
    host.replace("proc/stat", "cpu1 21797 0 4698 46738", "cpu1 21887 0 4698 46748");
    let of = |measure| -> Option<Peak> { sampler.peaks().into_iter().find(|peak| peak.measure == measure) };
    let begun = std::time::Instant::now();
    let seen = loop {
        // Whoever asks for samples all the time takes nothing away from those at the interval.
        fresh(&sampler);
        if let Some(peak) = of(Measure::CpuUtilization) {
            break peak;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "the work was never seen");
    };
    assert_eq!((seen.up_to, seen.count), ([0, 0, 0, 0, 0, 1, 1], 1));
    assert_eq!(seen.maxima, [(Span::from_secs(60), 0.9)]);
    for _ in 0..50 {
        fresh(&sampler);
        assert_eq!(of(Measure::CpuUtilization).as_ref(), Some(&seen));
    }
    assert_eq!(of(Measure::CpuBusiest).unwrap().maxima, [(Span::from_secs(60), 0.9)]);
}

#[test]
fn samples_at_the_interval_fill_the_ring_and_asked_for_ones_do_not() {
    let mut settings = settings();
    settings.interval = Span::from_millis(100);
    let sampler = Sampler::start(settings, root(&fixture("proc-virtio"))).unwrap();
    let asked = fresh(&sampler);
    while sampler.counts().samples < 4 {
        fresh(&sampler);
    }
    let kept = sampler.between(Timestamp::MIN, Timestamp::MAX);
    let Counts { samples, .. } = sampler.counts();
    assert!((4..=samples as usize).contains(&kept.len()), "{} of {samples}", kept.len());
    assert!(kept.iter().all(|sample| sample.moment != asked.moment));
    assert!(kept.windows(2).all(|pair| pair[0].moment < pair[1].moment));
    let since_third = sampler.between(kept[2].at, Timestamp::MAX);
    assert_eq!(since_third[0], kept[2]);
    let series = columns(&kept);
    assert!(series.iter().any(|(name, _)| name == "disk.vda.queue"));
    assert!(series.iter().all(|(_, values)| values.len() == kept.len() - 1));
}

#[test]
fn new_settings_count_from_the_next_sample() {
    let sampler = sampler_of("proc-virtio");
    let mut settings = settings();
    settings.disks = DeviceFilter::new("^vda1$", "").unwrap();
    settings.network = DeviceFilter::new("", "^eth0$").unwrap();
    sampler.configure(settings);
    let sample = fresh(&sampler);
    assert_eq!(disks(&sample)[0].device.as_str(), "vda1");
    assert_eq!(networks(&sample)[0].device.as_str(), "lo");
    assert_eq!(sampler.counts().samples, 2, "a change takes a sample at once");
}

#[tokio::test]
async fn a_fresh_sample_is_awaited_without_blocking_and_else_the_newest_is_served() {
    let sampler = sampler_of("proc-virtio");
    let first = sampler.latest();
    let fresh = sampler.fresh(Duration::from_secs(20)).await;
    assert!(fresh.moment > first.moment);
    let newest = sampler.fresh(Duration::ZERO).await;
    assert!(newest.moment >= fresh.moment);
}

#[test]
fn a_stopped_sampler_leaves_nobody_waiting() {
    let sampler = sampler_of("proc-virtio");
    let mut request = sampler.request();
    drop(sampler);
    assert_ne!(request.try_recv().err(), Some(TryRecvError::Empty), "a request is left waiting");
}

#[test]
fn this_process_is_read_as_others_are() {
    let process = self_process(&fixture("proc-virtio").join("proc")).unwrap();
    assert_eq!(process.cpu_seconds, 3.25);
    assert_eq!((process.resident, process.virtual_memory), (Bytes::new(9672 << 10), Bytes::new(30600 << 10)));
    assert_eq!((process.open_fds, process.max_fds, process.threads), (3, Some(1024), 5));
    assert_eq!(process.start_time, 1796055840.0 + 75.09);
    assert!(self_process(Path::new("/proc")).unwrap().open_fds > 0);
}
