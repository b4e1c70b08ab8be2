//! Which rows the SQL workloads meet: the distribution of ids, with the names sysbench gives its constants.

use serde::{Deserialize, Serialize};

use super::schema::refused;
use crate::config::ParameterError;
use crate::driver::random::{Distribution, Ids};
use crate::workloads::Key;

/// The shape of the distribution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RandType {
    /// A hot band in the middle; the default of sysbench 1.0.20.
    #[default]
    Special,
    Uniform,
    Gaussian,
    Pareto,
    Zipfian,
}

/// The distribution and the constants of all shapes; those of another shape do nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdOptions {
    pub(crate) rand_type: RandType,
    /// Percent of ids that are hot.
    pub(crate) rand_spec_pct: u32,
    /// Uniform numbers averaged into one of a bell.
    pub(crate) rand_spec_iter: u32,
    /// Percent of picks that meet a hot id.
    pub(crate) rand_spec_res: u32,
    pub(crate) rand_pareto_h: f64,
    pub(crate) rand_zipfian_exp: f64,
    /// Whether `special` is that of sysbench 0.4 and 0.5; the workload says so.
    #[serde(skip)]
    pub(crate) old: bool,
}

impl Default for IdOptions {
    fn default() -> IdOptions {
        IdOptions {
            rand_type: RandType::Special,
            rand_spec_pct: 1,
            rand_spec_iter: 12,
            rand_spec_res: 75,
            rand_pareto_h: 0.2,
            rand_zipfian_exp: 0.8,
            old: false,
        }
    }
}

/// The keys of [`IdOptions`].
pub(crate) const ID_KEYS: &[Key] = &[
    Key {
        name: "rand_type",
        meaning: "ids met: special (a hot band in the middle) | uniform | gaussian | pareto | zipfian",
        peer: "--rand-type",
    },
    Key { name: "rand_spec_pct", meaning: "special: percent of ids that are hot", peer: "--rand-spec-pct" },
    Key {
        name: "rand_spec_iter",
        meaning: "special, gaussian: uniform numbers averaged",
        peer: "--rand-spec-iter",
    },
    Key {
        name: "rand_spec_res",
        meaning: "special: percent of accesses to hot ids, below 100",
        peer: "--rand-spec-res",
    },
    Key {
        name: "rand_pareto_h",
        meaning: "pareto: share of ids that takes the rest of the accesses, 0.2 = 80 % go to 20 %",
        peer: "--rand-pareto-h",
    },
    Key {
        name: "rand_zipfian_exp",
        meaning: "zipfian: exponent, 0 = uniform (sysbench's master branch)",
        peer: "--rand-zipfian-exp",
    },
];

impl IdOptions {
    /// Refuses constants without a meaning, those of other shapes too.
    pub(crate) fn check(&self) -> Result<(), ParameterError> {
        if !(1..=100).contains(&self.rand_spec_pct) {
            let problem = format!("{} percent of the ids cannot be hot", self.rand_spec_pct);
            return Err(refused("rand_spec_pct", problem, "write 1 to 100"));
        }
        if !(1..=1000).contains(&self.rand_spec_iter) {
            let problem = format!("the mean of {} numbers is not possible", self.rand_spec_iter);
            return Err(refused("rand_spec_iter", problem, "write 1 to 1000"));
        }
        if self.rand_spec_res > 99 {
            let problem = format!("{} percent of accesses cannot be to hot ids", self.rand_spec_res);
            return Err(refused("rand_spec_res", problem, "write 0 to 99"));
        }
        if !(self.rand_pareto_h > 0.0 && self.rand_pareto_h < 1.0) {
            let problem = format!("a pareto share of {} is not possible", self.rand_pareto_h);
            return Err(refused("rand_pareto_h", problem, "write a number between 0 and 1, 0.2"));
        }
        if !(0.0..=100.0).contains(&self.rand_zipfian_exp) {
            let problem = format!("a zipfian exponent of {} is not possible", self.rand_zipfian_exp);
            return Err(refused("rand_zipfian_exp", problem, "write 0 to 100, 0.8"));
        }
        Ok(())
    }

    /// The ids of a table of so many rows.
    pub(crate) fn over(&self, table_size: u32) -> Ids {
        self.between(1, u64::from(table_size))
    }

    /// The numbers from `low` to `high`, both included.
    pub(crate) fn between(&self, low: u64, high: u64) -> Ids {
        let distribution = match self.rand_type {
            RandType::Special if self.old => Distribution::Band {
                iterations: self.rand_spec_iter,
                percent: self.rand_spec_pct,
                picks: self.rand_spec_res,
            },
            RandType::Special => Distribution::Special {
                iterations: self.rand_spec_iter,
                percent: self.rand_spec_pct,
                picks: self.rand_spec_res,
            },
            RandType::Uniform => Distribution::Uniform,
            RandType::Gaussian => Distribution::Gaussian { iterations: self.rand_spec_iter },
            RandType::Pareto => Distribution::Pareto { h: self.rand_pareto_h },
            RandType::Zipfian => Distribution::Zipfian { exponent: self.rand_zipfian_exp },
        };
        distribution.over(low, high)
    }

    /// The shape with the constants that count for it, as text: two equal texts mean the same distribution.
    pub(crate) fn description(&self) -> String {
        let IdOptions { rand_spec_pct: pct, rand_spec_iter: iter, rand_spec_res: res, .. } = self;
        match self.rand_type {
            RandType::Special if self.old => format!("band pct={pct} iter={iter} res={res}"),
            RandType::Special => format!("special pct={pct} iter={iter} res={res}"),
            RandType::Uniform => "uniform".to_owned(),
            RandType::Gaussian => format!("gaussian iter={iter}"),
            RandType::Pareto => format!("pareto h={}", self.rand_pareto_h),
            RandType::Zipfian => format!("zipfian exp={}", self.rand_zipfian_exp),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(ids: &IdOptions) -> Option<String> {
        ids.check().err().map(|error| error.key)
    }

    #[test]
    fn constants_without_a_meaning_are_refused_by_their_key() {
        let base = IdOptions::default;
        assert_eq!(refusal(&base()), None);
        assert_eq!(refusal(&IdOptions { rand_spec_pct: 0, ..base() }).unwrap(), "rand_spec_pct");
        assert_eq!(refusal(&IdOptions { rand_spec_pct: 101, ..base() }).unwrap(), "rand_spec_pct");
        assert_eq!(refusal(&IdOptions { rand_spec_iter: 0, ..base() }).unwrap(), "rand_spec_iter");
        assert_eq!(refusal(&IdOptions { rand_spec_res: 100, ..base() }).unwrap(), "rand_spec_res");
        for h in [0.0, 1.0, -0.2, f64::NAN] {
            assert_eq!(refusal(&IdOptions { rand_pareto_h: h, ..base() }).unwrap(), "rand_pareto_h");
        }
        for exponent in [-0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(
                refusal(&IdOptions { rand_zipfian_exp: exponent, ..base() }).unwrap(),
                "rand_zipfian_exp"
            );
        }
    }

    #[test]
    fn constants_of_another_shape_do_not_change_the_description() {
        let uniform = IdOptions { rand_type: RandType::Uniform, ..IdOptions::default() };
        assert_eq!(IdOptions { rand_spec_pct: 5, ..uniform.clone() }.description(), uniform.description());
        let special = IdOptions::default();
        assert_ne!(IdOptions { rand_spec_pct: 5, ..special.clone() }.description(), special.description());
    }
}
